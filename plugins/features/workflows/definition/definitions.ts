import { codeOf, type Files, type Log, reasonOf } from "@svc/sdk";
import type { Definition } from "../engine/types.ts";
import { type Checked, checkDefinition, isWorkflowId } from "./check-definition.ts";
import { definitionError } from "./definition-errors.ts";
import { type DefinitionFolder, etagOf, openFolder } from "./definition-folder.ts";
import { requireRunnable } from "./definition-views.ts";
import type { Known } from "./field-lint.ts";
import { firstError, type Problem } from "./problem.ts";
import { type Format, MAX_BYTES } from "./source.ts";

/** A definition in the folder. */
export interface Loaded {
  readonly id: string;
  /** Executable definition; if `broken` is set, an empty graph under its id. */
  readonly definition: Definition;
  /** Parsed content of the file, also if it is not executable. */
  readonly value?: Readonly<Record<string, unknown>>;
  /** Empty where it is broken. */
  readonly hash: string;
  /** Why it cannot be run. */
  readonly broken?: string;
  readonly problems: readonly Problem[];
  readonly format: Format;
  /** Below the folder, such as `purchase.yaml`. */
  readonly file: string;
  /** Of the bytes of the file. */
  readonly etag: string;
}

/** The definitions of the operator, as the folder has them at the moment: looked at with each call, read where a file has changed. */
export interface Definitions {
  readonly folder: DefinitionFolder;
  /** By id, broken ones too. */
  list(): Promise<readonly Loaded[]>;
  get(id: string): Promise<Loaded | undefined>;
  /** Names that definitions may reference at the moment: for checking a text that is not in the folder. */
  known(): Promise<Known>;
  /** Writes a definition as JSON. `ifMatch` is the ETag that the caller has read, `NEW` where there must be none. Throws errors of `DEFINITION_ERRORS`. */
  save(id: string, definition: object, ifMatch?: string): Promise<{ readonly loaded: Loaded; readonly created: boolean }>;
  /**
   * Writes the text of a definition as it is, in the format that its file has; a new one is YAML. Without `ifMatch` there must be none yet.
   * Throws errors of `DEFINITION_ERRORS`.
   */
  saveText(id: string, text: string, ifMatch?: string): Promise<{ readonly loaded: Loaded; readonly created: boolean }>;
  /** The text of a file, with the ETag of its bytes; undefined where it cannot be read. */
  text(file: string): Promise<{ readonly text: string; readonly etag: string } | undefined>;
  /** Layout beside a definition: opaque data of the page; null without one. */
  layout(id: string): Promise<unknown>;
  saveLayout(id: string, layout: object): Promise<void>;
}

/** Dependencies of definitions. */
export interface DefinitionsOptions {
  readonly files: Files;
  readonly dir: string;
  /** Where several daemons keep the folder the same: the folder that does. */
  readonly share?: (folder: DefinitionFolder) => DefinitionFolder;
  readonly log: Log;
  /** Agents and actions that there are now, for warnings. */
  readonly known: () => Pick<Known, "agents" | "actions">;
}

/** Value of `ifMatch` for a new definition. */
export const NEW = "new";

const DEFINITION_FILE = /^([^_.].*)\.(json|yaml|yml)$/;
const LAYOUT_BYTES = 262_144;
/** Of two files of one id the first counts. */
const ORDER = ["yaml", "yml", "json"];

interface Kept extends Loaded {
  readonly mark: string;
}

/** Opens the folder; reads nothing yet. */
export function openDefinitions({ files, dir, share = (folder) => folder, log, known }: DefinitionsOptions): Definitions {
  return new FolderDefinitions(share(openFolder(files, dir)), log, known);
}

class FolderDefinitions implements Definitions {
  readonly folder: DefinitionFolder;
  readonly #log: Log;
  readonly #around: DefinitionsOptions["known"];
  #kept: ReadonlyMap<string, Kept> = new Map();
  #last: Promise<unknown> = Promise.resolve();

  constructor(folder: DefinitionFolder, log: Log, known: DefinitionsOptions["known"]) {
    this.folder = folder;
    this.#log = log;
    this.#around = known;
  }

  async list(): Promise<readonly Loaded[]> {
    const kept = await this.#refreshed();
    return [...kept.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  async get(id: string): Promise<Loaded | undefined> {
    const found = (await this.#refreshed()).get(id);
    if (found !== undefined || this.folder.sync === undefined) return found;
    // Another daemon may have made it a moment ago, and a look that was under way may have written it before this one.
    await this.folder.sync();
    return (await this.#refreshed()).get(id);
  }

  async known(): Promise<Known> {
    return { ...this.#around(), workflows: new Set((await this.#refreshed()).keys()) };
  }

  async save(id: string, definition: object, ifMatch?: string): Promise<{ loaded: Loaded; created: boolean }> {
    if (!isWorkflowId(id)) throw definitionError("SVC_WORKFLOW_ID", { id });
    const before = await this.get(id);
    if (before?.format === "yaml") throw definitionError("SVC_WORKFLOW_YAML", { id, file: this.folder.shown(before.file), reason: "yaml-authored" });
    const text = `${JSON.stringify(definition, null, 2)}\n`;
    if (Buffer.byteLength(text) > MAX_BYTES) throw definitionError("SVC_WORKFLOW_BIG");
    requireRunnable(id, checkDefinition(text, { id, format: "json", known: await this.known() }));
    let created = false;
    await this.folder.change(`${id}.json`, 2 * MAX_BYTES, (bytes) => {
      created = bytes === undefined;
      if (ifMatch !== undefined && !fits(bytes, ifMatch)) throw definitionError("SVC_WORKFLOW_CHANGED", { id });
      return text;
    });
    return { loaded: await this.#there(id), created };
  }

  async saveText(id: string, text: string, ifMatch = NEW): Promise<{ loaded: Loaded; created: boolean }> {
    if (!isWorkflowId(id)) throw definitionError("SVC_WORKFLOW_ID", { id });
    if (Buffer.byteLength(text) > MAX_BYTES) throw definitionError("SVC_WORKFLOW_BIG");
    const { file, format } = (await this.get(id)) ?? { file: `${id}.yaml`, format: "yaml" as const };
    requireRunnable(id, checkDefinition(text, { id, format, known: await this.known() }));
    let created = false;
    await this.folder.change(file, 2 * MAX_BYTES, (before) => {
      created = before === undefined;
      if (!fits(before, ifMatch)) throw definitionError("SVC_WORKFLOW_CHANGED", { id });
      return text;
    });
    return { loaded: await this.#there(id), created };
  }

  async text(file: string): Promise<{ text: string; etag: string } | undefined> {
    const text = await this.folder.read(file, MAX_BYTES).catch(() => undefined);
    return text === undefined ? undefined : { text, etag: etagOf(text) };
  }

  /** Read anew, whatever its size and time say: a change of one letter within the same millisecond shows in neither. */
  async #there(id: string): Promise<Loaded> {
    this.#kept = new Map([...this.#kept].filter(([kept]) => kept !== id));
    const loaded = await this.get(id);
    if (loaded === undefined) throw definitionError("SVC_WORKFLOW_UNKNOWN", { id });
    return loaded;
  }

  async layout(id: string): Promise<unknown> {
    const text = await this.folder.read(`${id}.layout.json`, 2 * LAYOUT_BYTES).catch(() => undefined);
    try {
      return text === undefined ? null : (JSON.parse(text) as unknown);
    } catch {
      return null;
    }
  }

  async saveLayout(id: string, layout: object): Promise<void> {
    if ((await this.get(id)) === undefined) throw definitionError("SVC_WORKFLOW_UNKNOWN", { id });
    const text = `${JSON.stringify(layout)}\n`;
    if (Buffer.byteLength(text) > LAYOUT_BYTES) throw definitionError("SVC_WORKFLOW_LAYOUT");
    await this.folder.write(`${id}.layout.json`, text);
  }

  /** One look at a time: a later one sees what an earlier one has read. */
  #refreshed(): Promise<ReadonlyMap<string, Kept>> {
    const look = this.#last.then(() => this.#look());
    this.#last = look.catch(() => undefined);
    return look;
  }

  async #look(): Promise<ReadonlyMap<string, Kept>> {
    const files = (await this.folder.list()).flatMap(({ name, size, mtimeMs }) => {
      const [, id, ending] = DEFINITION_FILE.exec(name) ?? [];
      return id === undefined || ending === undefined || id.endsWith(".layout") ? [] : [{ id, ending, name, mark: `${name} ${size} ${mtimeMs}` }];
    });
    files.sort((a, b) => ORDER.indexOf(a.ending) - ORDER.indexOf(b.ending));
    const byId = new Map<string, { name: string; ending: string; marks: string[]; shadowed: string[] }>();
    for (const { id, name, ending, mark } of files) {
      const found = byId.get(id);
      if (found === undefined) byId.set(id, { name, ending, marks: [mark], shadowed: [] });
      else found.shadowed.push(name);
    }
    const known: Known = { ...this.#around(), workflows: new Set(byId.keys()) };
    const around = [known.agents, known.actions, known.workflows].map((names) => [...(names ?? [])].sort().join()).join(";");
    const kept = new Map<string, Kept>();
    for (const [id, { name, ending, marks, shadowed }] of byId) {
      const mark = [...marks, ...shadowed, around].join("|");
      const before = this.#kept.get(id);
      const loaded = before?.mark === mark ? before : await this.#load(id, name, ending === "json" ? "json" : "yaml", shadowed, known);
      // Gone between the look at the folder and the reading.
      if (loaded === undefined) continue;
      kept.set(id, { ...loaded, mark });
      if (loaded !== before && loaded.broken !== undefined && before?.broken !== loaded.broken)
        this.#log.warn({ workflow: id, file: this.folder.shown(name), reason: loaded.broken }, "a workflow cannot be run; the others can");
    }
    this.#kept = kept;
    return kept;
  }

  async #load(id: string, file: string, format: Format, shadowed: readonly string[], known: Known): Promise<Loaded | undefined> {
    let text: string | undefined;
    let checked: Checked;
    try {
      text = await this.folder.read(file, MAX_BYTES);
      if (text === undefined) return undefined;
      checked = checkDefinition(text, { id, format, known });
    } catch (error) {
      checked = { hash: "", problems: [unreadable(error)] };
    }
    const problems = [...checked.problems, ...shadowed.map((name) => shadow(name, file))];
    const broken = firstError(problems) ?? (checked.definition === undefined ? "it cannot be read" : undefined);
    return {
      id,
      definition: checked.definition ?? { id, nodes: [], edges: [] },
      ...(checked.value === undefined ? {} : { value: checked.value }),
      hash: broken === undefined ? checked.hash : "",
      ...(broken === undefined ? {} : { broken }),
      problems,
      format,
      file,
      etag: text === undefined ? "" : etagOf(text),
    };
  }
}

/** Whether a file is what a change of it was made from. */
export const fits = (before: string | undefined, ifMatch: string): boolean =>
  before === undefined ? ifMatch === NEW : ifMatch === "*" || ifMatch === etagOf(before);

const START = { pointer: "", line: 1, column: 1 };

const shadow = (name: string, counts: string): Problem => ({
  ...START,
  message: `${name} is not read: ${counts} has the same id. Remove one of them.`,
  severity: "warning",
  code: "SHADOWED",
});

function unreadable(error: unknown): Problem {
  const message =
    codeOf(error) === "SVC_FILE_TOO_LARGE" ? "The file is larger than 1 MB." : error instanceof TypeError ? "The file is no UTF-8." : reasonOf(error);
  return { ...START, message, severity: "error", code: "SYNTAX" };
}
