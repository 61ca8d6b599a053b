import { readdirSync, readFileSync } from "node:fs";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { RUN_VARIABLE } from "./child-env.ts";

/** A process, distinguished from a later one with the same id by its start time. */
export interface Member {
  readonly pid: number;
  /** Clock ticks since boot. */
  readonly start: number;
}

/** Marks by which the processes of one run, or of one daemon, are recognised. */
export interface Tree {
  /** Processes known to belong to it; their descendants do too. */
  readonly known: readonly Member[];
  /** The process group and session that belong to it. */
  readonly leader?: number;
  /** The value of the mark in their environment; with a `.` at its end, the beginning of the value. */
  readonly mark: string;
  /** The mark of processes started before this time is not read. Default: the start time of the oldest known one. */
  readonly since?: number;
}

interface ProcessRow extends Member {
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** A zombie: it has exited and is not reaped yet. */
  readonly dead: boolean;
  /** The value of `SVC_RUN` in its environment, empty for none; read lazily. */
  mark?: string;
}

/** Between two looks of the event loop at something else. */
const SLICE = 64;
const KILL_ROUNDS = 40;

/** The process that has an id now, a zombie too. */
export function memberOf(pid: number): Member | undefined {
  return rowOf(pid);
}

/** Whether that very process still runs. */
function isAlive(member: Member): boolean {
  const row = rowOf(member.pid);
  return row?.start === member.start && !row.dead;
}

/**
 * Ends a tree: SIGTERM to all of it, SIGKILL to the rest after `graceMs`. The tree is looked up anew before each kill, since it may grow while it
 * dies. `survivors` is empty unless a process belongs to another user. Without /proc it ends the process group of the leader and can name no process.
 */
export async function endTree(tree: Tree, graceMs: number): Promise<{ readonly found: readonly Member[]; readonly survivors: readonly Member[] }> {
  if (rowOf(process.pid) === undefined) {
    if (tree.leader !== undefined) await endGroup(tree.leader, graceMs);
    return { found: [], survivors: [] };
  }
  const found = await treeMembers(tree);
  signal(found, "SIGTERM");
  await until(() => !found.some(isAlive), graceMs);
  let members = found;
  const known = new Map(tree.known.map((member) => [member.pid, member]));
  for (let round = 0; members.length > 0 && round < KILL_ROUNDS; round++) {
    for (const member of members) known.set(member.pid, member);
    members = await treeMembers({ ...tree, known: [...known.values()] });
    signal(members, "SIGKILL");
    const killed = members;
    await until(() => !killed.some(isAlive), 50);
  }
  return { found, survivors: members.filter(isAlive) };
}

/** The processes of a tree now: the known ones, the group and session, every descendant of those and every process with the mark, also from a session of its own. */
export async function treeMembers(tree: Tree): Promise<readonly Member[]> {
  return membersIn(await look(), tree);
}

/** The same for several trees, by one look. */
export async function membersOf<T extends Tree>(trees: readonly T[]): Promise<ReadonlyMap<T, readonly Member[]>> {
  const rows = await look();
  const members = new Map<T, readonly Member[]>();
  for (const tree of trees) members.set(tree, await membersIn(rows, tree));
  return members;
}

async function membersIn(
  rows: readonly ProcessRow[],
  { known, leader, mark, since = Math.min(...known.map(({ start }) => start)) }: Tree,
): Promise<readonly Member[]> {
  const above = ancestors(rows);
  const others = rows.filter(({ pid }) => !above.has(pid));
  const starts = new Map(known.map(({ pid, start }) => [pid, start]));
  const found = new Map<number, ProcessRow>();
  let looked = 0;
  for (const row of others) {
    if (starts.get(row.pid) === row.start || (leader !== undefined && (row.group === leader || row.session === leader))) found.set(row.pid, row);
    else if (row.start >= since) {
      if (row.mark === undefined && ++looked % SLICE === 0) await nextTurn();
      row.mark ??= markOf(row.pid);
      if (row.mark === mark || (mark.endsWith(".") && row.mark.startsWith(mark))) found.set(row.pid, row);
    }
  }
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    for (const row of others) if (found.has(row.parent)) found.set(row.pid, row);
  }
  return [...found.values()].map(({ pid, start }) => ({ pid, start }));
}

async function endGroup(leader: number, graceMs: number): Promise<void> {
  const send = (name: NodeJS.Signals | 0): boolean => {
    try {
      return process.kill(-leader, name);
    } catch {
      return false;
    }
  };
  if (!send("SIGTERM")) return;
  await until(() => !send(0), graceMs);
  send("SIGKILL");
}

async function until(done: () => boolean, limitMs: number): Promise<void> {
  const deadline = performance.now() + limitMs;
  for (let pause = 1; !done() && performance.now() < deadline; pause = Math.min(pause * 2, 50)) await sleep(pause);
}

function signal(members: readonly Member[], name: NodeJS.Signals): void {
  for (const member of members) {
    if (!isAlive(member)) continue;
    try {
      process.kill(member.pid, name);
    } catch {
      // The process is gone or belongs to another user: the next check finds out.
    }
  }
}

let looking: Promise<readonly ProcessRow[]> | undefined;
let following: Promise<readonly ProcessRow[]> | undefined;

/** Scans all processes, beginning after the call; calls during one scan share the next. */
function look(): Promise<readonly ProcessRow[]> {
  const done = () => {
    looking = following;
    following = undefined;
  };
  if (looking !== undefined) return (following ??= looking.then(allRows).finally(done));
  return (looking = allRows().finally(done));
}

async function allRows(): Promise<ProcessRow[]> {
  const rows: ProcessRow[] = [];
  let read = 0;
  for (const pid of processIds()) {
    const row = rowOf(pid);
    if (row?.dead === false) rows.push(row);
    if (++read % SLICE === 0) await nextTurn();
  }
  return rows;
}

function processIds(): number[] {
  try {
    return readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
  } catch {
    return [];
  }
}

function rowOf(pid: number): ProcessRow | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    return undefined;
  }
  // The second field is the name in parentheses and may hold anything; after it: state, parent, group, session, ... start as the 20th.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const dead = fields[0] === "Z" || fields[0] === "X";
  return { pid, parent: Number(fields[1]), group: Number(fields[2]), session: Number(fields[3]), start: Number(fields[19]), dead };
}

/** Returns this process and its ancestors: one of our own children may have started this daemon. */
function ancestors(rows: readonly ProcessRow[]): ReadonlySet<number> {
  const parents = new Map(rows.map(({ pid, parent }) => [pid, parent]));
  const above = new Set<number>();
  for (let pid: number | undefined = process.pid; pid !== undefined && pid > 0 && !above.has(pid); pid = parents.get(pid)) above.add(pid);
  return above;
}

function markOf(pid: number): string {
  const entry = `${RUN_VARIABLE}=`;
  try {
    const entries = readFileSync(`/proc/${pid}/environ`, "latin1").split("\0");
    return entries.find((each) => each.startsWith(entry))?.slice(entry.length) ?? "";
  } catch {
    // The process is gone, or belongs to another user.
    return "";
  }
}
