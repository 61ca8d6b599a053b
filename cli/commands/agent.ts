import { mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { applyChange, describeVerdict, openFile } from "../change.ts";
import type { Cli } from "../cli.ts";
import { fail } from "../errors.ts";
import type { OwnGroup } from "../group.ts";
import { table } from "../table.ts";

interface ListedAgent {
  readonly id: string;
  readonly name: string;
  readonly tier: string;
  readonly model?: string;
  readonly access: string;
  readonly active: number;
}

const group: OwnGroup = {
  name: "agent",
  summary: "List, add and remove agents",
  commands: [
    { name: "list", args: "", summary: "The agents, and what each one does now", run: (_args, _options, cli) => list(cli) },
    {
      name: "add",
      args: "<id>",
      summary: "Add an agent",
      options: [
        { flags: "--name <name>", description: "display name (default: the id)" },
        { flags: "--workspace <folder>", description: "its working folder (default: ./workspaces/<id>)" },
        { flags: "--tier <name>", description: "execution engine (default: local)" },
        { flags: "--model <id>", description: "model id" },
      ],
      async run([id], options, cli) {
        const editor = await openFile(cli);
        if (editor.get(`agents.${id}`) !== undefined)
          throw fail("SVC_CLI_EXISTS", { what: `Agent ${id}`, next: `change it with: svc config set agents.${id}.<key> <value>` });
        const workspace = String(options.workspace ?? `./workspaces/${id}`);
        const agent = {
          name: String(options.name ?? id),
          workspace,
          tier: String(options.tier ?? "local"),
          ...(options.model === undefined ? {} : { model: String(options.model) }),
        };
        editor.set(`agents.${id}`, JSON.stringify(agent));
        mkdirSync(resolve(cli.folder, workspace), { recursive: true });
        const verdict = await applyChange(cli, editor);
        cli.print(`Agent ${id} is added. ${describeVerdict(verdict)}`, { id, ...agent, ...verdict });
      },
    },
    {
      name: "remove",
      args: "<id>",
      summary: "Remove an agent; its workspace stays",
      async run([id], _options, cli) {
        const editor = await openFile(cli);
        if (editor.get(`agents.${id}`) === undefined) throw fail("SVC_CLI_MISSING", { what: `agent ${id}`, next: "svc agent list" });
        editor.remove(`agents.${id}`);
        const verdict = await applyChange(cli, editor);
        cli.print(`Agent ${id} is removed. ${describeVerdict(verdict)}`, { id, ...verdict });
      },
    },
  ],
};

export default group;

async function list(cli: Cli): Promise<void> {
  let agents: ListedAgent[];
  try {
    agents = ((await cli.request("GET", "/agents")) as { agents: ListedAgent[] }).agents;
  } catch (error) {
    if ((error as { code?: string }).code !== "SVC_CLI_NO_DAEMON") throw error;
    const configured = ((await openFile(cli)).get("agents") ?? {}) as Record<string, Omit<ListedAgent, "id" | "active">>;
    agents = Object.entries(configured).map(([id, agent]) => ({ ...agent, id, active: 0 }));
    if (!cli.json) cli.say("(the daemon is not running; this is what svc.json says)");
  }
  const rows = agents.map(({ id, name, tier, model, access, active }) => [
    id,
    name,
    model === undefined ? tier : `${tier} (${model})`,
    access,
    active === 0 ? "idle" : `${active} running`,
  ]);
  cli.print(rows.length === 0 ? "There are no agents; add one with: svc agent add <id>" : table([["ID", "NAME", "TIER", "ACCESS", "NOW"], ...rows]), agents);
}
