import { homedir } from "node:os";
import { join } from "node:path";
import { type Agent, type Confined, codeOf, type Files, type Log, reasonOf } from "@svc/sdk";
import { MAX_BYTES, readSkill, type Skill, type SkillSource } from "./skill.ts";

/** Folders of an agent's workspace that the program of its tier reads by itself: telling them again would only cost room. */
const READ_BY_ENGINE: Readonly<Record<string, readonly string[]>> = {
  "cli-a": [".claude/skills"],
  "cli-b": [".agents/skills"],
  "cli-c": [".agents/skills", ".gemini/skills"],
};
/** Read of one folder: the first by name. */
export const MOST = 200;
const AT_ONCE = 8;
/** A folder is looked at again after this time. */
const FRESH_MS = 2_000;

/** The skills that lie in folders of others: `<folder>/<name>/SKILL.md`. */
export interface SkillFolders {
  /** Skills of an agent's workspace and of the user. With `all`, also those that its engine reads by itself. */
  of(agent: Agent, all?: boolean): Promise<readonly Skill[]>;
  /** The folders that hold more than is read of one, by those that were read last. */
  overfull(): readonly OverfullFolder[];
}

/** A folder of which only the first skills by name are read. */
export interface OverfullFolder {
  readonly folder: string;
  readonly unread: number;
}

interface Reading {
  readonly at: number;
  readonly skills: Promise<readonly Skill[]>;
}

/** Reads the folders that `settings` names; what cannot be read has a `problem`. */
export function createSkillFolders(
  files: Files,
  settings: () => { readonly workspace: readonly string[]; readonly user: readonly string[] },
  log: Pick<Log, "warn">,
): SkillFolders {
  const readings = new Map<string, Reading>();
  const overfull = new Map<string, OverfullFolder>();
  const known = new Map<string, { readonly mtimeMs: number; readonly size: number; readonly skill: Skill }>();

  function fresh(key: string, read: () => Promise<readonly Skill[]>): Promise<readonly Skill[]> {
    const before = readings.get(key);
    if (before !== undefined && performance.now() - before.at < FRESH_MS) return before.skills;
    const skills = read().catch((error): readonly Skill[] => {
      log.warn({ folder: key, reason: reasonOf(error) }, "a folder of skills was not read");
      return [];
    });
    if (readings.size > 1_000) readings.clear();
    readings.set(key, { at: performance.now(), skills });
    return skills;
  }

  async function inFolder(confined: Confined, folder: string, facts: { readonly source: SkillSource; readonly owner: string; readonly shown: string }) {
    const entries = await missing(confined.list(folder));
    const names = entries
      .filter(({ kind, name }) => kind !== "file" && !name.startsWith("."))
      .map(({ name }) => name)
      .sort();
    note(confined.roots[0] ?? "", folder, names.length - MOST);
    const skills: Skill[] = [];
    for (let at = 0; at < Math.min(names.length, MOST); at += AT_ONCE) {
      const read = await Promise.all(names.slice(at, Math.min(at + AT_ONCE, MOST)).map((name) => inside(confined, folder, name, facts)));
      skills.push(...read.flat());
    }
    return skills.toSorted((left, right) => (left.id < right.id ? -1 : 1));
  }

  function note(root: string, folder: string, unread: number): void {
    const place = join(root, folder);
    const before = overfull.get(place)?.unread;
    if (unread <= 0) return void overfull.delete(place);
    overfull.set(place, { folder: place, unread });
    // Looked at every few seconds; said where it is another number than before.
    if (before !== unread) log.warn({ folder: place, unread }, `a folder holds more skills than are read of one: the first ${MOST} by name are used`);
  }

  async function inside(confined: Confined, folder: string, name: string, facts: Parameters<typeof inFolder>[2]): Promise<readonly Skill[]> {
    const own = { id: `${facts.owner}/${idPart(name)}`, source: facts.source, file: `${facts.shown}/${name}/SKILL.md` } as const;
    const broken = (error: unknown): readonly Skill[] => [{ ...own, name: idPart(name), description: "", body: "", problem: reasonOf(error) }];
    try {
      const file = (await missing(confined.list(join(folder, name)))).find((entry) => entry.name === "SKILL.md");
      if (file === undefined) return [];
      const path = join(folder, name, "SKILL.md");
      const key = `${confined.roots[0]}\n${path}`;
      const before = known.get(key);
      if (file.kind === "file" && before?.mtimeMs === file.mtimeMs && before.size === file.size) return [before.skill];
      const skill = readSkill(own, new TextDecoder("utf-8", { fatal: true }).decode(await confined.read(path, MAX_BYTES)));
      if (known.size > 5_000) known.clear();
      known.set(key, { mtimeMs: file.mtimeMs, size: file.size, skill });
      return [skill];
    } catch (error) {
      // A file beside the folders, or one that went away meanwhile.
      if (codeOf(error) === "SVC_FILE_KIND" || codeOf(error) === "SVC_FILE_MISSING") return [];
      return broken(error);
    }
  }

  return {
    async of(agent, all = false) {
      const { workspace, user } = settings();
      const theirs = all ? [] : (READ_BY_ENGINE[agent.tier] ?? []);
      const places = workspace.filter((folder) => !theirs.includes(folder));
      const found = await Promise.all([
        ...places.map((folder) =>
          fresh(`${agent.id}\n${agent.workspace}\n${folder}`, () =>
            inFolder(files.under(agent.workspace), folder, { source: "workspace", owner: agent.id, shown: folder }),
          ),
        ),
        ...user.map((folder) => {
          const path = folder.replace(/^~(?=\/|$)/, homedir());
          return fresh(path, () => inFolder(files.under(path), ".", { source: "user", owner: "user", shown: folder }));
        }),
      ]);
      // The same name in two folders is one skill: the first folder counts.
      const byId = new Map<string, Skill>();
      for (const skill of found.flat()) if (!byId.has(skill.id)) byId.set(skill.id, skill);
      return [...byId.values()];
    },
    overfull: () => [...overfull.values()],
  };
}

/** The name of a folder as a part of an id, whatever somebody called it. */
const idPart = (name: string): string => name.replace(/[^\p{L}\p{N}._-]+/gu, "_").slice(0, 64);

async function missing<T>(list: Promise<readonly T[]>): Promise<readonly T[]> {
  try {
    return await list;
  } catch (error) {
    if (codeOf(error) === "SVC_FILE_MISSING") return [];
    throw error;
  }
}
