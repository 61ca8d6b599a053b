import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { type Agent, type Log, withTimeout } from "@svc/sdk";
import type { Workspaces } from "../core/boot/maintenance-port.ts";

/** Timeout of one folder, and of all of them during a start, in milliseconds. */
const ONE_MS = 5_000;
const PATIENCE_MS = 2_000;
/** Calls that a file system does not answer each keep one of the few threads on which all files are read and written. */
const HANGING = 1;

/** `onChange` receives the problems when an agent's folder disappears or is back. `makeFolder` is replaced in tests. */
export function createWorkspaces(
  log: Log,
  onChange: (problems: ReadonlyMap<string, string>) => void,
  make: (path: string) => Promise<boolean> = makeFolder,
): Workspaces {
  const problems = new Map<string, string>();
  /** Workspaces whose file system has not answered yet. */
  const hanging = new Set<string>();
  let wanted: readonly Agent[] = [];

  function note({ id, workspace }: Agent, reason: string | undefined): void {
    const problem = reason && `the workspace ${workspace} cannot be made (${reason}); set agents.${id}.workspace to a folder that can`;
    if (problem === problems.get(id)) return;
    if (problem === undefined) {
      problems.delete(id);
      log.info({ agent: id }, `the workspace ${workspace} is there`);
    } else {
      problems.set(id, problem);
      log.warn({ agent: id }, problem);
    }
    onChange(problems);
  }

  /** Why it could not be made. */
  async function tryOne(workspace: string): Promise<string | undefined> {
    if (hanging.has(workspace)) return "its file system does not answer";
    if (hanging.size >= HANGING) return `not tried, because ${[...hanging][0]} hangs`;
    hanging.add(workspace);
    const made = make(workspace)
      .then(
        (isNew) => {
          if (isNew) log.info({ workspace }, `made the workspace ${workspace}, which was not there`);
          return undefined;
        },
        (error: Error) => error.message,
      )
      .finally(() => hanging.delete(workspace));
    return withTimeout(made, ONE_MS, () => `its file system has not answered within ${ONE_MS / 1000} s`);
  }

  async function work(agents: readonly Agent[]): Promise<void> {
    const tried = new Map<string, string | undefined>();
    for (const agent of agents) {
      if (!tried.has(agent.workspace)) tried.set(agent.workspace, await tryOne(agent.workspace));
      // A reload may have taken the agent away, or given it another folder.
      if (wanted.includes(agent)) note(agent, tried.get(agent.workspace));
    }
  }

  return {
    problems,
    async make(agents) {
      wanted = agents;
      const ids = new Set(agents.map(({ id }) => id));
      for (const id of [...problems.keys()]) if (!ids.has(id)) problems.delete(id);
      await withTimeout(work(agents), PATIENCE_MS, () => undefined);
    },
    again: () => work(wanted.filter(({ id }) => problems.has(id))),
  };
}

/**
 * Returns whether the folder is new. Each folder is tried once before and once after its parent: `mkdir` with `recursive` never returns if a file
 * system refuses both (in /proc).
 */
async function makeFolder(path: string): Promise<boolean> {
  try {
    await mkdir(path);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" && dirname(path) !== path) {
      await makeFolder(dirname(path));
      await mkdir(path);
      return true;
    }
    if (code !== "EEXIST" && code !== "EISDIR") throw error;
    if (!(await stat(path)).isDirectory()) throw error;
    return false;
  }
}
