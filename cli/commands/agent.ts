import { resolve } from "node:path";
import type { AgentAbilities } from "@svc/kernel";
import { productName } from "../catalog.ts";
import type { Cli } from "../cli.ts";
import { coded, fail } from "../errors.ts";
import type { OwnGroup } from "../group.ts";
import { makeFolder, unmakeFolder } from "../make-folder.ts";
import { quantity } from "../quantity.ts";
import { table } from "../table.ts";

interface ListedAgent {
  readonly id: string;
  readonly name: string;
  readonly tier: string;
  readonly model?: string;
  readonly access: string;
  readonly active: number;
}

/** Anything else would be a path of svc.json: `agents.assistant.model` is no agent. */
const ID = /^[a-z0-9][a-z0-9_-]*$/;

/** Throws `SVC_CLI_USAGE` where the id is not one an agent can have. */
export function requireAgentId(id: string): void {
  if (!ID.test(id)) throw fail("SVC_CLI_USAGE", { reason: `'${id}' is no agent id: lower-case letters, digits, '_' and '-'` });
}

const group: OwnGroup = {
  name: "agent",
  summary: "List, add and remove agents; what each can do and remembers; index a workspace",
  commands: [
    { name: "list", anywhere: true, args: "", summary: "The agents, and what each one does now", run: (_args, _options, cli) => list(cli) },
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
      async run([id = ""], options, cli) {
        requireAgentId(id);
        const { changeFile, describeVerdict, putInForce } = await import("../change.js");
        const workspace = String(options.workspace ?? `./workspaces/${id}`);
        const agent = {
          name: String(options.name ?? id),
          workspace,
          tier: String(options.tier ?? "local"),
          ...(options.model === undefined ? {} : { model: String(options.model) }),
        };
        const path = resolve(cli.folder, workspace);
        let made: string | undefined;
        const added = changeFile(cli, (editor) => {
          if (editor.get(`agents.${id}`) !== undefined)
            throw fail("SVC_CLI_EXISTS", { what: `Agent ${id}`, next: `change it with: svc config set agents.${id}.<key> <value>` });
          editor.set(`agents.${id}`, JSON.stringify(agent));
          made ??= makeFolder(path);
        });
        const verdict = await added
          .then((changed) => putInForce(cli, changed))
          .catch((error) => {
            if (made !== undefined) unmakeFolder(path, made);
            throw error;
          });
        const folder = made === undefined ? "" : ` Its workspace ${path} was made.`;
        cli.print(`Agent ${id} is added.${folder} ${describeVerdict(verdict)}`, { id, ...agent, ...verdict });
      },
    },
    {
      name: "remove",
      args: "<id>",
      summary: "Remove an agent; its workspace stays",
      async run([id = ""], _options, cli) {
        const { changeFile, describeVerdict, putInForce } = await import("../change.js");
        const changed = await changeFile(cli, (editor) => {
          if (!ID.test(id) || editor.get(`agents.${id}`) === undefined) throw fail("SVC_CLI_MISSING", { what: `agent ${id}`, next: "svc agent list" });
          editor.remove(`agents.${id}`);
        });
        const verdict = await putInForce(cli, changed);
        cli.print(`Agent ${id} is removed. ${describeVerdict(verdict)}`, { id, ...verdict });
      },
    },
    {
      name: "capability",
      anywhere: true,
      args: "<id>",
      summary: "What an agent can do, and whether its engine is usable",
      run: ([id], _options, cli) => capability(cli, id as string),
    },
    {
      name: "index",
      args: "<id>",
      summary: "Index an agent's workspace now: its words for rag.lexical, with codeindex its code for svc_code",
      run: ([id], _options, cli) => index(cli, id as string),
    },
    {
      name: "memory",
      args: "<what> <id> [file]",
      summary: "What an agent remembers in its files: list, show, edit or remove",
      options: [{ flags: "--text <text>", description: "edit: the new text (default: your editor on a terminal, else standard input)" }],
      run: async ([what, id, file], { text }, cli) => (await import("./agent-memory.js")).memory(cli, { what, id: id as string, file, text }),
    },
  ],
};

export default group;

/** Lazy import: usually a daemon answers. */
const fromFile = async (cli: Cli) => (await import("../change.ts")).openFile(cli);

async function list(cli: Cli): Promise<void> {
  let agents: ListedAgent[];
  try {
    agents = ((await cli.request("GET", "/agents")) as { agents: ListedAgent[] }).agents;
  } catch (error) {
    if ((error as { code?: string }).code !== "SVC_CLI_NO_DAEMON") throw error;
    const configured = ((await fromFile(cli)).get("agents") ?? {}) as Record<string, Omit<ListedAgent, "id" | "active">>;
    agents = Object.entries(configured).map(([id, agent]) => ({ ...agent, id, active: 0 }));
    if (!cli.json) cli.say("(the daemon is not running; this is what svc.json says)");
  }
  const rows = agents.map(({ id, name, tier, model, access, active }) => [
    id,
    name,
    model === undefined ? productName("tier", tier, cli.dataFolder) : `${productName("tier", tier, cli.dataFolder)}, ${model}`,
    access,
    active === 0 ? "idle" : `${active} running`,
  ]);
  cli.print(rows.length === 0 ? "There are no agents; add one with: svc agent add <id>" : table([["ID", "NAME", "TIER", "ACCESS", "NOW"], ...rows]), agents);
}

/** Prints the daemon's answer, or without one the facts of svc.json: those lack engines, actions and tools. */
async function capability(cli: Cli, id: string): Promise<void> {
  let known: Partial<AgentAbilities> & Pick<AgentAbilities, "id" | "name" | "tier">;
  try {
    known = (await cli.request("GET", `/agents/${encodeURIComponent(id)}/capability`)) as AgentAbilities;
  } catch (error) {
    if ((error as { code?: string }).code !== "SVC_CLI_NO_DAEMON") throw error;
    const agents = ((await fromFile(cli)).get("agents") ?? {}) as Record<string, Record<string, unknown>>;
    const agent = Object.hasOwn(agents, id) ? agents[id] : undefined;
    if (agent === undefined) throw fail("SVC_CLI_MISSING", { what: `agent ${id}`, next: "svc agent list" });
    if (!cli.json) cli.say("(the daemon is not running; this is what svc.json says)");
    known = {
      id,
      name: String(agent.name),
      tier: String(agent.tier),
      ...(agent.model === undefined ? {} : { model: String(agent.model) }),
      intents: (agent.intents as string[] | undefined) ?? [],
      mcpServers: Object.keys((agent.mcp ?? {}) as object),
    };
  }
  cli.print(describeCapability(productName("tier", known.tier, cli.dataFolder), known), known);
}

function describeCapability(
  product: string,
  {
    id,
    name,
    model,
    engine,
    nativeSessions,
    enforcesAutonomy,
    abilities,
    actions,
    reportingActions,
    tools,
    intents = [],
    mcpServers = [],
    restrictions = {},
  }: Partial<AgentAbilities>,
): string {
  const words = (names: readonly string[], none: string) => (names.length === 0 ? none : names.join(", "));
  const rows = [
    ["agent", `${id} (${name})`],
    ["tier", `${product}${model === undefined ? "" : `, model ${model}`}`],
    ...(engine === undefined ? [] : [["engine", `${engine.ok ? "usable" : "NOT USABLE"}: ${engine.detail}`]]),
    ...(nativeSessions === undefined ? [] : [["sessions", nativeSessions ? "kept by the engine" : "the history is sent with each turn"]]),
    ...(enforcesAutonomy === undefined ? [] : [["autonomy", enforcesAutonomy ? "report, propose and act" : "act only: the tier cannot enforce less"]]),
    ...(abilities === undefined
      ? []
      : [
          ["permission modes", words(abilities.permissionModes, "none: permissionMode changes nothing on this tier")],
          ["pictures", abilities.pictures ? "shown to the model" : "named only"],
        ]),
    ["intents", words(intents, "any")],
    ...(actions === undefined ? [] : [["actions", words(actions, "none")]]),
    ...(actions === undefined || actions.length === 0 || reportingActions === undefined
      ? []
      : [["when it may only report", words(reportingActions, "no action")]]),
    ...(tools === undefined ? [] : [["tools", words(tools, "none")]]),
    ["tool servers", words(mcpServers, "none")],
    ...(abilities?.toolServers === false && mcpServers.length > 0 ? [["not used", "tool servers: this tier gives its agents none"]] : []),
    ...Object.entries(restrictions).map(([key, value]) => [key, Array.isArray(value) ? words(value, "none") : String(value)]),
  ];
  return table(rows);
}

interface Indexed {
  readonly files: number;
  readonly read: number;
  readonly removed: number;
  readonly pieces: number;
  readonly durationMs: number;
}

interface IndexedCode extends Omit<Indexed, "pieces"> {
  readonly definitions: number;
  readonly skipped: number;
}

async function index(cli: Cli, id: string): Promise<void> {
  const path = `/api/agents/${encodeURIComponent(id)}`;
  const done = await run<Indexed>(cli, `${path}/index`);
  const code = await run<IndexedCode>(cli, `${path}/code-index`).catch((error) => {
    // Code indexes are off for all agents, or for this one.
    if (["SVC_HTTP_NOT_FOUND", "SVC_CODE_OFF"].includes((error as { code?: string }).code ?? "")) return undefined;
    throw error;
  });
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
  const { files, read, removed, pieces, durationMs } = done;
  const words = `The workspace of ${id} is indexed: ${quantity(files, "file")} (${read} read, ${removed} gone), ${quantity(pieces, "place")}, ${seconds(durationMs)}.`;
  if (code === undefined) return cli.print(words, done);
  const skipped = code.skipped === 0 ? "" : `, ${code.skipped} left out: too large, binary, or too long to read`;
  cli.print(
    `${words}\nIts code, too: ${quantity(code.files, "file")} (${code.read} read, ${code.removed} gone${skipped}), ${quantity(code.definitions, "definition")}, ${seconds(code.durationMs)}.`,
    { ...done, code },
  );
}

const run = <T>(cli: Cli, path: string): Promise<T> => (cli.terminal ? watchIndex<T>(cli, path) : (cli.request("POST", path) as Promise<T>));

/** On a terminal the count grows in place. */
async function watchIndex<T>(cli: Cli, path: string): Promise<T> {
  let done: T | undefined;
  for await (const { event, data } of cli.frames("POST", path)) {
    if (event === "progress") process.stderr.write(`\r${quantity((data as Indexed).files, "file")} looked at, ${(data as Indexed).read} read`);
    if (event === "done") done = data as T;
    if (event === "error") {
      const { error, code = "SVC_CLI_TASK_FAILED" } = data as { error: string; code?: string };
      throw coded(code, error);
    }
  }
  process.stderr.write("\r\u001b[K");
  if (done === undefined) throw fail("SVC_CLI_TASK_FAILED", { reason: "the daemon ended the stream without a result; look with: svc daemon logs" });
  return done;
}
