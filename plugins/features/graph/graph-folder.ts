import { createHash } from "node:crypto";
import { isAbsolute, join, relative, resolve } from "node:path";
import { type Confined, codeOf, type Files } from "@svc/sdk";
import { graphError } from "./graph-errors.ts";
import { changeText, type GraphChange, type GraphNode, ID, MAX_BYTES, nodeText, type Read, readChange, readNode } from "./graph-node.ts";
import { type Nodes, troubleWith } from "./structure.ts";

/** A file that holds no node. */
export interface BrokenFile {
  readonly file: string;
  readonly problem: string;
}

/** A draft of a change. */
export interface Draft {
  readonly id: string;
  readonly file: string;
  readonly change?: GraphChange;
  readonly problem?: string;
  /** Stands for its content. */
  readonly digest: string;
}

/** The graph as files: `<id>.yaml`, and drafts below `_drafts` that no turn sees. */
export interface GraphFolder {
  nodes(): Promise<{ readonly nodes: Nodes; readonly broken: readonly BrokenFile[] }>;
  drafts(): Promise<readonly Draft[]>;
  draft(id: string): Promise<Draft>;
  /** Keeps a change for review; answers with the draft. */
  save(change: GraphChange): Promise<Draft>;
  /** Makes the change. Throws `SVC_GRAPH_CHANGE` where the graph does not allow it. */
  apply(change: GraphChange): Promise<void>;
  promote(id: string): Promise<GraphChange>;
  reject(id: string, reason: string | undefined, at: Date): Promise<string>;
}

const DRAFTS = "_drafts";
const MOST = 2_000;
const FRESH_MS = 1_000;

/** `dir` is relative to the folder of svc.json; `.svc` is the data folder, wherever that lies. */
export function openGraphFolder(files: Files, dir: string): GraphFolder {
  const { confined, folder } = placeOf(files, dir);
  const at = (file: string) => join(folder, file);
  const shown = (file: string) => join(dir, file);
  const known = new Map<string, { readonly size: number; readonly mtimeMs: number; readonly read: Read<GraphNode> }>();
  let fresh: { readonly at: number; readonly loaded: ReturnType<GraphFolder["nodes"]> } | undefined;
  /** Changes are made one after the other: each is judged by the graph that the one before has left. */
  let last: Promise<unknown> = Promise.resolve();

  async function list(below: string) {
    const entries = await confined.list(at(below)).catch((error) => {
      if (codeOf(error) === "SVC_FILE_MISSING") return [];
      throw error;
    });
    return entries
      .filter(({ name, kind }) => kind === "file" && name.endsWith(".yaml") && !name.startsWith("."))
      .toSorted((left, right) => (left.name < right.name ? -1 : 1))
      .slice(0, MOST);
  }

  const textOf = async (file: string): Promise<string> => new TextDecoder("utf-8", { fatal: true }).decode(await confined.read(at(file), MAX_BYTES));

  async function load(): ReturnType<GraphFolder["nodes"]> {
    const nodes = new Map<string, GraphNode>();
    const broken: BrokenFile[] = [];
    for (const { name, size, mtimeMs } of await list(".")) {
      const id = name.slice(0, -".yaml".length);
      const before = known.get(name);
      const read = before?.size === size && before.mtimeMs === mtimeMs ? before.read : await readFile(id, name);
      known.set(name, { size, mtimeMs, read });
      if (read.value === undefined) broken.push({ file: shown(name), problem: read.problem });
      else nodes.set(id, read.value);
    }
    return { nodes, broken };
  }

  async function readFile(id: string, name: string): Promise<Read<GraphNode>> {
    if (!ID.test(id)) return { problem: "its name is no id" };
    return textOf(name).then(
      (text) => readNode(id, text),
      (error) => ({ problem: (error as Error).message }),
    );
  }

  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = last.then(work);
    last = mine.catch(() => undefined);
    return mine;
  };

  async function apply(change: GraphChange, draft = change.node.id): Promise<void> {
    const { nodes } = await load();
    const reason = troubleWith(change, nodes);
    if (reason !== undefined) throw graphError("SVC_GRAPH_CHANGE", { id: draft, reason, file: shown(`${DRAFTS}/${draft}.yaml`) });
    const file = at(`${change.node.id}.yaml`);
    if (change.change === "remove") await confined.remove(file);
    else await confined.write(file, nodeText(change.node));
    fresh = undefined;
  }

  async function draft(id: string): Promise<Draft> {
    const found = ID.test(id) ? await readDraft(`${id}.yaml`).catch(() => undefined) : undefined;
    if (found === undefined) throw graphError("SVC_GRAPH_DRAFT", { id });
    return found;
  }

  async function readDraft(name: string): Promise<Draft> {
    const file = `${DRAFTS}/${name}`;
    const facts = { id: name.slice(0, -".yaml".length), file: shown(file) };
    const text = await textOf(file).catch((error) => {
      if (codeOf(error) === "SVC_FILE_MISSING") throw error;
      return undefined;
    });
    if (text === undefined) return { ...facts, problem: "it cannot be read", digest: "" };
    const { value, problem } = readChange(text);
    const digest = createHash("sha256").update(text).digest("hex");
    return { ...facts, digest, ...(value === undefined ? { problem: problem ?? "" } : { change: value }) };
  }

  return {
    nodes() {
      if (fresh === undefined || performance.now() - fresh.at > FRESH_MS) {
        const loaded = load();
        fresh = { at: performance.now(), loaded };
        loaded.catch(() => {
          fresh = undefined;
        });
      }
      return fresh.loaded;
    },
    drafts: async () => Promise.all((await list(DRAFTS)).map(({ name }) => readDraft(name))),
    draft,
    save: (change) =>
      inTurn(async () => {
        const taken = new Set((await list(DRAFTS)).map(({ name }) => name));
        let id = change.node.id;
        for (let number = 2; taken.has(`${id}.yaml`); number += 1) id = `${change.node.id.slice(0, 58)}-${number}`;
        await confined.write(at(`${DRAFTS}/${id}.yaml`), changeText(change));
        return draft(id);
      }),
    apply: (change) => inTurn(() => apply(change)),
    promote: (id) =>
      inTurn(async () => {
        const { change, problem, file } = await draft(id);
        if (change === undefined) throw graphError("SVC_GRAPH_CHANGE", { id, reason: problem, file });
        // A stop between the two steps of an earlier promotion has left the draft beside its node.
        if (!isDone(change, (await load()).nodes)) await apply(change, id);
        await confined.remove(at(`${DRAFTS}/${id}.yaml`));
        return change;
      }),
    reject: (id, reason, now) =>
      inTurn(async () => {
        await draft(id);
        const text = await textOf(`${DRAFTS}/${id}.yaml`).catch(() => "");
        const file = `${DRAFTS}/_rejected/${id}.${now.toISOString().replace(/[:.]/g, "-")}.yaml`;
        await confined.write(at(file), `# Rejected on ${now.toISOString()}${reason === undefined ? "" : `: ${reason.replace(/\s+/g, " ").trim()}`}\n${text}`);
        await confined.remove(at(`${DRAFTS}/${id}.yaml`));
        return shown(file);
      }),
  };
}

function isDone({ change, node }: GraphChange, nodes: Nodes): boolean {
  const there = nodes.get(node.id);
  return change === "remove" ? there === undefined : there !== undefined && nodeText(there) === nodeText(node);
}

/** The data folder is the daemon's own: it is reached through its own capability only. */
function placeOf(files: Files, dir: string): { readonly confined: Confined; readonly folder: string } {
  const data = files.data.roots[0] ?? ".svc";
  const [first, ...below] = dir.split(/[/\\]/);
  const folder = first === ".svc" ? join(data, ...below) : resolve(files.under(".").roots[0] ?? ".", dir);
  const path = relative(data, folder);
  const inside = path !== "" && !path.startsWith("..") && !isAbsolute(path);
  return { confined: inside ? files.data : files.under(folder), folder };
}
