import { checkDefinition, isWorkflowId } from "../definition/check-definition.ts";
import { definitionError } from "../definition/definition-errors.ts";
import type { DefinitionFolder } from "../definition/definition-folder.ts";
import { requireRunnable } from "../definition/definition-views.ts";
import { type Definitions, fits, NEW } from "../definition/definitions.ts";
import { firstError, type Problem } from "../definition/problem.ts";
import { type Format, MAX_BYTES, readSource } from "../definition/source.ts";
import type { Definition } from "../engine/types.ts";
import { editYaml, yamlText } from "./yaml-edit.ts";

/** A definition that is no workflow yet. */
export interface Draft {
  readonly id: string;
  /** As people name it: `.svc/workflows/_drafts/<id>.yaml`. */
  readonly file: string;
  readonly text: string;
  readonly format: Format;
  readonly value?: Readonly<Record<string, unknown>>;
  /** Where its schema takes it. */
  readonly definition?: Definition;
  readonly hash: string;
  readonly problems: readonly Problem[];
  /** ISO 8601. */
  readonly updatedAt: string;
}

const DRAFTS = "_drafts";
const REJECTED = "_drafts/_rejected";
const DRAFT_FILE = /^([^_.].*)\.(yaml|yml|json)$/;
const ORDER = ["yaml", "yml", "json"];

interface DraftFile {
  readonly id: string;
  readonly name: string;
  readonly mtimeMs: number;
}

/** Drafts below `_drafts`, where no workflow is looked for (WF-02, WF-03). */
export class Drafts {
  readonly #definitions: Definitions;
  readonly #folder: DefinitionFolder;

  constructor(definitions: Definitions) {
    this.#definitions = definitions;
    this.#folder = definitions.folder;
  }

  /** By id. */
  async list(): Promise<readonly Draft[]> {
    const drafts: Draft[] = [];
    for (const file of await this.#files()) {
      const draft = await this.#read(file);
      if (draft !== undefined) drafts.push(draft);
    }
    return drafts;
  }

  /** Throws `SVC_DRAFT_UNKNOWN`. */
  async get(id: string): Promise<Draft> {
    const file = (await this.#files()).find((one) => one.id === id);
    const draft = file === undefined ? undefined : await this.#read(file);
    if (draft === undefined) throw definitionError("SVC_DRAFT_UNKNOWN", { id });
    return draft;
  }

  /**
   * Writes a draft as YAML, whatever is wrong with it; comments of the one that is there stay. With `ifMatch`, the ETag of what the caller has
   * read or `NEW`, it throws `SVC_DRAFT_CHANGED` where the draft is another one.
   */
  async save(id: string, value: Readonly<Record<string, unknown>>, ifMatch?: string): Promise<Draft> {
    if (!isWorkflowId(id)) throw definitionError("SVC_WORKFLOW_ID", { id });
    // Do not write a value that cannot be read back: hostile keys, unlimited nesting.
    const fresh = readSource(JSON.stringify(value), "json");
    if (fresh.value === undefined) throw definitionError("SVC_WORKFLOW_SCHEMA", { id, reason: firstError(fresh.problems), problems: fresh.problems });
    const before = (await this.#files()).find((one) => one.id === id);
    const name = before === undefined || before.name.endsWith(".json") ? `${id}.yaml` : before.name;
    await this.#folder.change(`${DRAFTS}/${name}`, 2 * MAX_BYTES, (text) => {
      if (ifMatch !== undefined && !fits(text, ifMatch)) throw definitionError("SVC_DRAFT_CHANGED", { id });
      const readable = text !== undefined && readSource(text, "yaml").value !== undefined;
      const written = readable ? editYaml(text, value) : yamlText(value);
      if (Buffer.byteLength(written) > MAX_BYTES) throw definitionError("SVC_WORKFLOW_BIG");
      return written;
    });
    if (before !== undefined && before.name !== name) await this.#folder.remove(`${DRAFTS}/${before.name}`);
    return this.get(id);
  }

  /** Writes the text of a draft as it is, whatever the check says of it. Throws as `save` does, and where the text cannot be read again. */
  async saveText(id: string, text: string, ifMatch: string = NEW): Promise<Draft> {
    if (!isWorkflowId(id)) throw definitionError("SVC_WORKFLOW_ID", { id });
    const fresh = readSource(text, "yaml");
    if (fresh.value === undefined) throw definitionError("SVC_WORKFLOW_SCHEMA", { id, reason: firstError(fresh.problems), problems: fresh.problems });
    const before = (await this.#files()).find((one) => one.id === id);
    const name = before === undefined || before.name.endsWith(".json") ? `${id}.yaml` : before.name;
    if (before !== undefined && before.name !== name) {
      const { text: old } = await this.get(id);
      if (!fits(old, ifMatch)) throw definitionError("SVC_DRAFT_CHANGED", { id });
    }
    await this.#folder.change(`${DRAFTS}/${name}`, 2 * MAX_BYTES, (there) => {
      const same = before !== undefined && before.name !== name ? there === undefined : fits(there, ifMatch);
      if (!same) throw definitionError("SVC_DRAFT_CHANGED", { id });
      return text;
    });
    if (before !== undefined && before.name !== name) await this.#folder.remove(`${DRAFTS}/${before.name}`);
    return this.get(id);
  }

  /**
   * Makes a workflow of a draft, with the text as it is written. Throws `SVC_WORKFLOW_LINT` or `SVC_WORKFLOW_SCHEMA` with the problems, and
   * `SVC_DRAFT_TAKEN`.
   */
  async promote(id: string, as: string = id): Promise<{ readonly id: string; readonly definition: Definition }> {
    const draft = await this.get(id);
    if (!isWorkflowId(as)) throw definitionError("SVC_WORKFLOW_ID", { id: as });
    const text = as === id ? draft.text : renamed(draft, as);
    requireRunnable(as, checkDefinition(text, { id: as, format: draft.format, known: await this.#definitions.known() }));
    const file = `${as}.${draft.format === "json" ? "json" : "yaml"}`;
    const there = await this.#definitions.get(as);
    if (there !== undefined) throw this.#taken(as, there.file);
    // First the workflow, then the draft: a stop in between leaves both, and loses neither.
    await this.#folder.change(file, 2 * MAX_BYTES, (before) => {
      if (before !== undefined) throw this.#taken(as, file);
      return text;
    });
    await this.#removeDraft(id);
    const loaded = await this.#definitions.get(as);
    if (loaded === undefined) throw definitionError("SVC_WORKFLOW_UNKNOWN", { id: as });
    return { id: as, definition: loaded.definition };
  }

  /** Puts a draft away below `_rejected`; answers with its file. */
  async reject(id: string, reason: string | undefined, at: Date): Promise<string> {
    const draft = await this.get(id);
    const stamp = at.toISOString().replace(/[:.]/g, "-");
    const why = reason === undefined || draft.format === "json" ? "" : `# Rejected on ${at.toISOString()}: ${reason.replace(/\s+/g, " ").trim()}\n`;
    const file = `${REJECTED}/${id}.${stamp}.${draft.format === "json" ? "json" : "yaml"}`;
    await this.#folder.write(file, why + draft.text);
    await this.#removeDraft(id);
    return this.#folder.shown(file);
  }

  #taken(id: string, file: string): Error {
    return definitionError("SVC_DRAFT_TAKEN", { id, file: this.#folder.shown(file), reason: "id-taken" });
  }

  async #removeDraft(id: string): Promise<void> {
    for (const { name } of await this.#all()) if (DRAFT_FILE.exec(name)?.[1] === id) await this.#folder.remove(`${DRAFTS}/${name}`);
  }

  #all() {
    return this.#folder.list(DRAFTS);
  }

  async #files(): Promise<readonly DraftFile[]> {
    const files = (await this.#all()).flatMap(({ name, mtimeMs }) => {
      const id = DRAFT_FILE.exec(name)?.[1];
      return id === undefined ? [] : [{ id, name, mtimeMs }];
    });
    const ending = (name: string) => ORDER.indexOf(name.slice(name.lastIndexOf(".") + 1));
    files.sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : ending(a.name) - ending(b.name)));
    return files.filter(({ id }, index) => files[index - 1]?.id !== id);
  }

  async #read({ id, name, mtimeMs }: DraftFile): Promise<Draft | undefined> {
    const format: Format = name.endsWith(".json") ? "json" : "yaml";
    const facts = { id, file: this.#folder.shown(`${DRAFTS}/${name}`), format, updatedAt: new Date(mtimeMs).toISOString() };
    try {
      const text = await this.#folder.read(`${DRAFTS}/${name}`, MAX_BYTES);
      return text === undefined ? undefined : { ...facts, text, ...checkDefinition(text, { id, format, known: await this.#definitions.known() }) };
    } catch (error) {
      const problem: Problem = { message: (error as Error).message, pointer: "", line: 1, column: 1, severity: "error", code: "SYNTAX" };
      return { ...facts, text: "", hash: "", problems: [problem] };
    }
  }
}

function renamed({ text, value, format }: Draft, id: string): string {
  if (value === undefined || value["id"] === undefined) return text;
  const next = { ...value, id };
  return format === "json" ? `${JSON.stringify(next, null, 2)}\n` : editYaml(text, next);
}
