import type { PluginStatus } from "@svc/kernel";
import { firstParty, installed } from "../catalog.ts";
import type { Cli } from "../cli.ts";
import type { OwnGroup } from "../group.ts";
import { table } from "../table.ts";

const group: OwnGroup = {
  name: "plugin",
  summary: "Plugins: what each one does, costs and breaks",
  commands: [
    {
      name: "list",
      args: "",
      summary: "State, cost and failures of each plugin",
      options: [{ flags: "-a, --all", description: "also those that nothing asks for" }],
      run: (_args, options, cli) => list(cli, options.all === true),
    },
    {
      name: "retry",
      args: "<id>",
      summary: "Let a plugin load again that was held back because the daemon died of it",
      run: async ([id], _options, cli) => (await import("../plugins/retry.js")).retry(cli, id as string),
    },
  ],
};

export default group;

async function list(cli: Cli, all: boolean): Promise<void> {
  let plugins: readonly PluginStatus[];
  try {
    plugins = ((await cli.request("GET", "/health")) as { plugins: PluginStatus[] }).plugins;
  } catch (error) {
    if ((error as { code?: string }).code !== "SVC_CLI_NO_DAEMON") throw error;
    if (!cli.json) cli.say("(the daemon is not running; this is what is installed)");
    plugins = [...firstParty(), ...installed(cli.dataFolder)].map(({ manifest }) => ({
      id: `${manifest.kind}-${manifest.name}`,
      state: "known",
      source: "first-party",
      provides: [],
      hooks: [],
      capabilities: manifest.capabilities,
      failures: 0,
    }));
    all = true;
  }
  const shown = plugins.filter(({ state }) => all || state !== "known");
  const rows = shown.map(({ id, version, state, took, failures, provides, hooks, reason }) => [
    id,
    version ?? "",
    state,
    took === undefined || state === "known" ? "" : `${took.load + took.setup + took.start} ms`,
    failures === 0 ? "" : String(failures),
    reason ?? [...provides, ...hooks.map((hook) => `hook ${hook}`)].join(", "),
  ]);
  cli.print(table([["PLUGIN", "VERSION", "STATE", "START", "FAILURES", "PROVIDES / REASON"], ...rows]), shown);
}
