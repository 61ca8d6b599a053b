import { type FileHandle, mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type ActionEnvelope, type CliHost, type CommandGroup, type Schema, svcError } from "@svc/sdk";
import { type Definition, isActionId, MAX_TIMEOUT_MS, parseDefinition } from "./definition.ts";
import { FOLDER } from "./folder.ts";
import { parseShorthand } from "./inputs.ts";
import type { ActionRunResult } from "./result.ts";

interface Builtin {
  readonly name: string;
  readonly description: string;
  readonly input: Schema;
  readonly unusable?: string;
}

const group: CommandGroup = {
  name: "actions",
  summary: "List, add, run and remove actions",
  commands: [
    {
      name: "builtin",
      args: "",
      summary: "The actions that plugins bring, with their inputs",
      async run(_args, _options, cli) {
        const actions = await builtins(cli);
        const rows = actions.map(({ name, description, input, unusable }) => {
          const note = unusable === undefined ? "" : `\n  Not usable here: ${unusable}.`;
          return `${name}\n  ${description}\n  ${describeInputs(input)}${note}`;
        });
        cli.print(rows.join("\n"), actions);
      },
    },
    {
      name: "list",
      args: "",
      summary: "The actions in the data folder, broken ones too",
      async run(_args, _options, cli) {
        const { actions, errors } = await readFolder(cli);
        const lines = actions.map(
          ({ id, work, title, inputs }) => `${id}  ${work.kind}  ${title}${inputs.length ? `  (${inputs.map(spell).join(", ")})` : ""}`,
        );
        cli.print(
          [...lines, ...errors.map(({ file, error }) => `${file}  broken: ${error}`)].join("\n") ||
            "There are no actions yet; write one with: svc actions add <id>",
          {
            actions: actions.map(({ id, title, work, inputs, timeoutMs }) => ({ id, title, kind: work.kind, inputs, timeoutMs })),
            errors,
          },
        );
      },
    },
    {
      name: "add",
      args: "<id>",
      summary: "Write an action: a shell command or an HTTP call",
      options: [
        { flags: "--command <text>", description: "the shell command; {{name}} becomes one argument, do not quote it" },
        { flags: "--url <text>", description: "the address of an HTTP call" },
        { flags: "--method <name>", description: "its method (default: GET, POST with a body)" },
        { flags: "--header <name:value...>", description: "a header of the call" },
        { flags: "--body <text>", description: "the body of the call" },
        { flags: "--inputs <list>", description: "inputs as name:type, ! for required: city:string!,days:number" },
        { flags: "--title <text>", description: "what people and agents read (default: the id)" },
        { flags: "--cwd <folder>", description: "the command's working folder" },
        { flags: "--timeout <ms>", description: "limit in milliseconds (default 30000)", number: { least: 1, most: MAX_TIMEOUT_MS } },
        { flags: "--force", description: "replace an action of that id" },
      ],
      run: ([id = ""], options, cli) => add(id, options, cli),
    },
    {
      name: "run",
      args: "<name> [input...]",
      summary: "Run an action: name=value pairs, or one JSON object",
      run: ([name = "", ...words], _options, cli) => run(name, words, cli),
    },
    {
      name: "remove",
      args: "<id>",
      summary: "Delete an action's file",
      async run([id = ""], _options, cli) {
        const file = fileOf(cli, id);
        try {
          await rm(file);
        } catch (cause) {
          throw svcError("SVC_ACTION_UNKNOWN", `There is no action '${id}'; see svc actions list.`, { status: 404, cause });
        }
        cli.print(`Action ${id} is removed.`, { id, removed: true });
      },
    },
  ],
};
export default group;

async function add(id: string, options: Readonly<Record<string, unknown>>, cli: CliHost): Promise<void> {
  const { command, url, method, header, body, inputs, title, cwd, timeout, force } = options;
  if ((command === undefined) === (url === undefined)) throw invalid("Give either --command or --url.");
  const headers = Object.fromEntries([header ?? []].flat().map((line) => splitHeader(String(line))));
  const content = {
    ...(title === undefined ? {} : { title }),
    ...(command === undefined
      ? {
          kind: "http",
          url,
          method: method ?? (body === undefined ? "GET" : "POST"),
          ...(header === undefined ? {} : { headers }),
          ...(body === undefined ? {} : { body }),
        }
      : { kind: "shell", command, ...(cwd === undefined ? {} : { cwd }) }),
    ...(inputs === undefined ? {} : { inputs: parseShorthand(String(inputs)) }),
    ...(timeout === undefined ? {} : { timeoutMs: timeout }),
  };
  parseDefinition(id, content);
  const file = fileOf(cli, id);
  await mkdir(join(cli.dataFolder, FOLDER), { recursive: true, mode: 0o700 });
  if (!force && (await readFile(file).catch(() => undefined)))
    throw svcError("SVC_OPERATOR_ACTION_EXISTS", `The action ${id} is there already; replace it with --force.`, { status: 409 });
  await writeWhole(file, `${JSON.stringify(content, null, 2)}\n`);
  cli.print(`Action ${id} is written to ${file}. Run it with: svc actions run ${id}`, { id, file });
}

async function run(name: string, words: readonly string[], cli: CliHost): Promise<void> {
  const { actions, errors } = await readFolder(cli);
  if (actions.some(({ id }) => id === name) || errors.some(({ file }) => file === `${name}.json`)) {
    const result = (await cli.request("POST", `/api/actions/${name}/run?door=cli`, parseWords(words, undefined))) as ActionRunResult;
    cli.print(result.output.trimEnd(), result);
    if (!result.ok) throw svcError("SVC_ACTION_FAILED", `The action ${name} ended with ${result.status ?? "no status"}${withReason(result.errors.trim())}`);
    return;
  }
  const action = (await builtins(cli)).find((one) => one.name === name);
  if (!action) throw svcError("SVC_ACTION_UNKNOWN", `There is no action '${name}'; see svc actions builtin and svc actions list.`, { status: 404 });
  const envelope = (await cli.request(
    "POST",
    `/api/actions/builtin/${encodeURIComponent(name)}?door=cli`,
    parseWords(words, action.input.properties),
  )) as ActionEnvelope;
  cli.print(envelope.status === "ok" ? JSON.stringify(envelope.output, null, 2) : "", envelope);
  if (envelope.status === "error") throw svcError("SVC_ACTION_FAILED", envelope.error ?? `The action ${name} failed.`);
}

/** `name=value` words in the types of the schema, where there is one; the daemon types the inputs of operator actions itself. */
function parseWords(words: readonly string[], properties: Readonly<Record<string, Schema>> | undefined): Record<string, unknown> {
  const [first = ""] = words;
  if (first.trimStart().startsWith("{")) {
    if (words.length > 1) throw invalid("Give one JSON object or name=value words, not both.");
    return asJson(first, "The input") as Record<string, unknown>;
  }
  const pairs = words.map((word): [string, unknown] => {
    const at = word.indexOf("=");
    if (at < 1) throw invalid(`${JSON.stringify(word)} is not of the form name=value.`);
    const [name, text] = [word.slice(0, at), word.slice(at + 1)];
    return [name, properties && Object.hasOwn(properties, name) ? inTypeOf(properties[name], text, name) : text];
  });
  return Object.fromEntries(pairs);
}

function inTypeOf(schema: Schema | undefined, text: string, name: string): unknown {
  const type = schema?.type;
  if (type === "string") return text;
  if (type !== undefined) return asJson(text, `The input '${name}'`);
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function asJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw svcError("SVC_ACTION_INPUT", `${what} is not JSON: ${(cause as Error).message}.`, { status: 400, cause });
  }
}

async function builtins(cli: CliHost): Promise<readonly Builtin[]> {
  return ((await cli.request("GET", "/api/actions/builtin")) as { actions: readonly Builtin[] }).actions;
}

async function readFolder(cli: CliHost): Promise<{ actions: Definition[]; errors: { file: string; error: string }[] }> {
  const actions: Definition[] = [];
  const errors: { file: string; error: string }[] = [];
  const files = (await readdir(join(cli.dataFolder, FOLDER)).catch(() => [])).filter((name) => name.endsWith(".json") && !name.startsWith("."));
  for (const file of files.sort()) {
    try {
      actions.push(parseDefinition(file.slice(0, -".json".length), JSON.parse(await readFile(join(cli.dataFolder, FOLDER, file), "utf8"))));
    } catch (error) {
      errors.push({ file, error: (error as Error).message });
    }
  }
  return { actions, errors };
}

function fileOf(cli: CliHost, id: string): string {
  if (!isActionId(id)) throw invalid(`'${id}' is no name of an action: a-z, 0-9, '_' and '-', at most 64, and not 'builtin'.`);
  return join(cli.dataFolder, FOLDER, `${id}.json`);
}

/** The daemon never sees half a file, nor does a power cut leave one. */
async function writeWhole(file: string, text: string): Promise<void> {
  const partial = `${file}.${process.pid}.tmp`;
  try {
    await flushed(partial, "wx", (handle) => handle.writeFile(text));
    await rename(partial, file);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
  await flushed(dirname(file), "r", async () => {});
}

async function flushed(path: string, flags: string, work: (handle: FileHandle) => Promise<void>): Promise<void> {
  const handle = await open(path, flags, 0o600);
  try {
    await work(handle);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function splitHeader(line: string): [string, string] {
  const at = line.indexOf(":");
  if (at < 1) throw invalid(`The header ${JSON.stringify(line)} is not of the form name:value.`);
  return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
}

const withReason = (errors: string) => (errors === "" ? "." : `: ${errors}`);
const spell = ({ name, type, required }: Definition["inputs"][number]) => `${name}:${type}${required ? "!" : ""}`;
const describeInputs = ({ properties = {}, required = [] }: Schema) =>
  Object.entries(properties)
    .map(([name, { type = "any" }]) => `${name}:${[type].flat().join("|")}${required.includes(name) ? "!" : ""}`)
    .join(", ") || "no inputs";
const invalid = (message: string) => svcError("SVC_OPERATOR_ACTION_INVALID", message, { status: 400 });
