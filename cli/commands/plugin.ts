import type { PluginStatus } from "@svc/kernel";
import { added, firstParty } from "../catalog.ts";
import type { Cli } from "../cli.ts";
import type { OwnGroup } from "../group.ts";
import { table } from "../table.ts";

const yes = { flags: "--yes", description: "do not ask" } as const;

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
      name: "add",
      args: "<package>",
      summary: "Show what a plugin (name, name@version, ./path or a bundle) asks for, install it, pin it and name it in svc.json",
      options: [
        yes,
        { flags: "--allow-scripts", description: "let npm run the package's install scripts" },
        { flags: "--isolate", description: "let it run in a process of its own" },
      ],
      run: async ([word], options, cli) => (await import("../plugin/add.js")).add(cli, word as string, options),
    },
    {
      name: "bundle",
      args: "<plugin...>",
      summary: "Write plugins, with all that they depend on, into one file, for 'svc plugin add' on a machine without a registry",
      options: [{ flags: "--output <file>", description: "the file to write (default: svc-plugin-bundle.tgz)" }],
      run: async (words, { output = "svc-plugin-bundle.tgz" }, cli) => (await import("../plugin/bundle.js")).bundle(cli, words, String(output)),
    },
    {
      name: "update",
      args: "[plugin]",
      summary: "Bring an installed plugin, or all of them, to the newest version; asks about what it could not do before",
      options: [yes, { flags: "--allow-scripts", description: "let npm run the package's install scripts" }],
      run: async ([word], options, cli) => (await import("../plugin/update.js")).update(cli, word, options),
    },
    {
      name: "remove",
      args: "<plugin>",
      summary: "Uninstall a plugin and take it out of svc.json",
      run: async ([word], _options, cli) => (await import("../plugin/remove.js")).remove(cli, word as string),
    },
    {
      name: "enable",
      args: "<plugin>",
      summary: "Switch a plugin on: by id, package or path",
      options: [
        { flags: "--isolate", description: "from now on in a process of its own" },
        { flags: "--in-daemon", description: "from now on in the daemon's process" },
      ],
      run: async ([word], options, cli) =>
        (await import("../plugin/switch.js")).turn(cli, word as string, true, options.isolate === true ? true : options.inDaemon === true ? false : undefined),
    },
    {
      name: "disable",
      args: "<plugin>",
      summary: "Switch a plugin off; its files and its section stay",
      run: async ([word], _options, cli) => (await import("../plugin/switch.js")).turn(cli, word as string, false),
    },
    {
      name: "inspect",
      args: "<plugin>",
      summary: "What a plugin declares, and what it really registers in a dry run",
      run: async ([word], _options, cli) => (await import("../plugin/trust.js")).inspect(cli, word as string),
    },
    {
      name: "trust",
      args: "<plugin>",
      summary: "Show how an installed plugin differs from what was trusted, and trust it anew",
      options: [yes],
      run: async ([word], options, cli) => (await import("../plugin/trust.js")).trust(cli, word as string, options),
    },
    {
      name: "doctor",
      args: "",
      summary: "What is wrong with the added plugins, and the next step for each",
      run: async (_args, _options, cli) => (await import("../plugin/plugin-doctor.js")).doctor(cli),
    },
    {
      name: "new",
      args: "<kind> <name>",
      summary: "Start a plugin of your own in ./svc-plugin-<name>: channel, tier, engine (a tier on a program), action or feature",
      options: [{ flags: "--panel", description: "a feature with a page of the dashboard" }],
      run: async ([kind, name], { panel }, cli) =>
        (await import("../plugin/scaffold.js")).scaffold(cli, kind as string, name as string, { panel: panel === true }),
    },
    {
      name: "check",
      args: "<plugin>",
      summary: "Is a plugin fit to be published? Package, dry run, leaks, its contract suite, torture",
      options: [{ flags: "--quick", description: "without the torture, which takes about a minute" }],
      run: async ([word], options, cli) => (await import("../plugin/check.js")).check(cli, word as string, { quick: options.quick === true }),
    },
    {
      name: "dev",
      args: "<path>",
      summary: "Run a plugin of yours in a daemon of its own, anew after each change, and show its log",
      options: [{ flags: "--contract", description: "run its contract suite after each change" }],
      run: async ([word], options, cli) => (await import("../plugin/dev.js")).dev(cli, word as string, { contract: options.contract === true }),
    },
    {
      name: "retry",
      args: "<id>",
      summary: "Let a plugin load again that was held back because the daemon, or its own process, died of it",
      run: async ([id], _options, cli) => (await import("../plugin/retry.js")).retry(cli, id as string),
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
    plugins = [...firstParty(), ...added(cli.file)].map(({ manifest, name, path }) => ({
      id: `${manifest.kind}-${manifest.name}`,
      state: "known",
      source: name !== undefined ? "package" : path !== undefined ? "path" : "first-party",
      provides: [],
      hooks: [],
      capabilities: manifest.capabilities,
      failures: 0,
    }));
    all = true;
  }
  // List plugins that the operator added even if they are unused.
  const shown = plugins.filter(({ state, source }) => all || state !== "known" || source === "package" || source === "path");
  const rows = shown.map(({ id, version, state, took, failures, provides, hooks, reason, isolation }) => [
    id,
    version ?? "",
    isolation === undefined ? state : `${state}, ${isolation.pid === undefined ? "no process" : `process ${isolation.pid}`}`,
    took === undefined || state === "known" ? "" : `${took.load + took.setup + took.start} ms`,
    failures === 0 ? "" : String(failures),
    reason ?? [...provides, ...hooks.map((hook) => `hook ${hook}`)].join(", "),
  ]);
  cli.print(table([["PLUGIN", "VERSION", "STATE", "START", "FAILURES", "PROVIDES / REASON"], ...rows]), shown);
}
