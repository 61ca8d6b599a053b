import { isAbsolute, join, relative, resolve } from "node:path";
import { type Confined, codeOf, type Files } from "@svc/sdk";
import { procedureError } from "./procedure-errors.ts";
import { MAX_BYTES, readSkill, type Skill } from "./skill.ts";

/** Content of the folder `procedures.dir`: procedures, and drafts below `_drafts` that no turn sees. */
export interface ProcedureFolder {
  accepted(): Promise<readonly Skill[]>;
  /** Files of procedures that are not read: there are more than the first 500 by name. */
  unread(): Promise<number>;
  drafts(): Promise<readonly Skill[]>;
  /** Writes a draft under the first free name that begins with `name`; answers with its id. */
  draft(name: string, text: string): Promise<string>;
  /** Makes a procedure of a draft. Throws `SVC_PROCEDURE_*`. */
  promote(id: string, as?: string): Promise<Skill>;
  /** Puts a draft away below `_drafts/_rejected`; answers with its file. */
  reject(id: string, reason: string | undefined, at: Date): Promise<string>;
}

const DRAFTS = "_drafts";
const REJECTED = "_drafts/_rejected";
const FILE = /^([a-z0-9][a-z0-9._-]{0,63})\.md$/;
const NAME = /^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/;
/** Of one folder. */
const MOST = 500;
const MOST_NAMES = 100;
const CROWDED_MS = 5_000;

interface Known {
  readonly mtimeMs: number;
  readonly size: number;
  readonly skill: Skill;
}

/** `dir` is relative to the folder of svc.json; `.svc` is the data folder, wherever that lies. */
export function openProcedureFolder(files: Files, dir: string): ProcedureFolder {
  const { confined, folder } = placeOf(files, dir);
  const known = new Map<string, Known>();
  const at = (file: string) => join(folder, file);
  const shown = (file: string) => join(dir, file);

  /** Looking through a folder with too many takes long: what was found there is used again for a moment. */
  let crowded: { readonly at: number; readonly skills: readonly Skill[]; readonly unread: number } | undefined;

  async function filesIn(below: string) {
    const entries = await confined.list(at(below)).catch((error) => {
      if (codeOf(error) === "SVC_FILE_MISSING") return [];
      throw error;
    });
    return entries.filter(({ name, kind }) => kind === "file" && FILE.test(name)).toSorted((left, right) => (left.name < right.name ? -1 : 1));
  }

  async function list(below: string): Promise<{ readonly skills: readonly Skill[]; readonly unread: number }> {
    if (below === "." && crowded !== undefined && performance.now() - crowded.at < CROWDED_MS) return crowded;
    const found = await filesIn(below);
    const skills = await Promise.all(found.slice(0, MOST).map(({ name, size, mtimeMs }) => skillOf(join(below, name), size, mtimeMs)));
    const listed = { at: performance.now(), skills, unread: Math.max(0, found.length - MOST) };
    if (below === ".") crowded = listed.unread > 0 ? listed : undefined;
    return listed;
  }

  async function skillOf(file: string, size: number, mtimeMs: number): Promise<Skill> {
    const before = known.get(file);
    if (before?.size === size && before.mtimeMs === mtimeMs) return before.skill;
    const facts = { id: FILE.exec(file.split("/").at(-1) ?? "")?.[1] ?? file, source: "procedures", file: shown(file) } as const;
    const skill = await text(file).then(
      (read) => readSkill(facts, read),
      (error): Skill => ({ ...facts, name: facts.id, description: "", body: "", problem: (error as Error).message }),
    );
    if (known.size > 4 * MOST) known.clear();
    known.set(file, { size, mtimeMs, skill });
    return skill;
  }

  const text = async (file: string): Promise<string> => new TextDecoder("utf-8", { fatal: true }).decode(await confined.read(at(file), MAX_BYTES));

  /** By its name, among however many. */
  async function draftOf(id: string): Promise<Skill> {
    const file = `${DRAFTS}/${id}.md`;
    const draft = FILE.test(`${id}.md`) ? (await filesIn(DRAFTS)).find(({ name }) => name === `${id}.md`) : undefined;
    if (draft === undefined) throw procedureError("SVC_PROCEDURE_DRAFT", { id });
    return skillOf(file, draft.size, draft.mtimeMs);
  }

  return {
    accepted: async () => (await list(".")).skills,
    unread: async () => (await list(".")).unread,
    drafts: async () => (await list(DRAFTS)).skills,
    async draft(name, written) {
      const base = slugOf(name);
      for (let number = 1; number <= MOST_NAMES; number += 1) {
        const id = number === 1 ? base : `${base.slice(0, 60)}-${number}`;
        let mine = false;
        // A name that a procedure has is taken, too: a draft is promoted under its own.
        if ((await filesIn(".")).some((one) => one.name === `${id}.md`)) continue;
        await confined.change(at(`${DRAFTS}/${id}.md`), 2 * MAX_BYTES, (before) => {
          mine = before === undefined;
          return mine ? written : undefined;
        });
        if (mine) return id;
      }
      throw procedureError("SVC_PROCEDURE_NAME", { id: name });
    },
    async promote(id, as = id) {
      if (!NAME.test(as)) throw procedureError("SVC_PROCEDURE_NAME", { id: as });
      const { problem, file } = await draftOf(id);
      if (problem !== undefined) throw procedureError("SVC_PROCEDURE_BROKEN", { id, reason: problem, file });
      const written = await text(`${DRAFTS}/${id}.md`);
      // First the procedure, then the draft: a stop in between leaves both, and the same promotion ends it.
      await confined.change(at(`${as}.md`), 2 * MAX_BYTES, (before) => {
        if (before !== undefined && new TextDecoder().decode(before) !== written)
          throw procedureError("SVC_PROCEDURE_TAKEN", { id: as, file: shown(`${as}.md`), draft: id });
        return written;
      });
      await confined.remove(at(`${DRAFTS}/${id}.md`));
      crowded = undefined;
      return readSkill({ id: as, source: "procedures", file: shown(`${as}.md`) }, written);
    },
    async reject(id, reason, now) {
      await draftOf(id);
      const written = await text(`${DRAFTS}/${id}.md`).catch(() => undefined);
      const file = `${REJECTED}/${id}.${now.toISOString().replace(/[:.]/g, "-")}.md`;
      const why = reason === undefined ? "" : `\n<!-- Rejected on ${now.toISOString()}: ${reason.replace(/\s+/g, " ").replace(/--+>?/g, "-").trim()} -->\n`;
      // An unreadable draft is not worth keeping.
      if (written !== undefined) await confined.write(at(file), written + why);
      await confined.remove(at(`${DRAFTS}/${id}.md`));
      return shown(file);
    },
  };
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

/** A file's name out of words that somebody else has chosen. */
export const slugOf = (name: string): string =>
  name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 60)
    .replace(/-+$/, "") || "procedure";
