import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { processAlive, processIdentity } from "../store/process-identity.ts";

/** What of a plugin was under way. `run`: anything after its start. */
export type Phase = "import" | "setup" | "start" | "run";

/** Why a plugin is kept from loading. `at` is ISO 8601. */
export interface Held {
  readonly phase: Phase;
  readonly reason: string;
  readonly at: string;
}

interface Marker {
  readonly plugin: string;
  readonly phase: Phase;
  readonly pid: number;
  /** Tells the process from a later one with its id; absent where the system does not say. */
  readonly identity?: string;
}

const markerFile = (dataFolder: string): string => join(dataFolder, "loading.json");
const heldFile = (dataFolder: string): string => join(dataFolder, "quarantine.json");

/**
 * Notes on disk whose code is about to run, or what of it is to blame: should this process die now, that plugin is held back at the
 * next start. Synchronous, so that nothing runs in between. Another live process's marker is left alone.
 */
export function markLoading(dataFolder: string, plugin: string, phase: Phase): void {
  const standing = read<Marker>(markerFile(dataFolder));
  if (standing !== undefined && standing.pid !== process.pid && isAlive(standing)) return;
  const identity = processIdentity(process.pid);
  write(markerFile(dataFolder), { plugin, phase, pid: process.pid, ...(identity === undefined ? {} : { identity }) } satisfies Marker);
}

/** Takes the marker of this process away: it is alive and well. */
export function unmarkLoading(dataFolder: string): void {
  if (read<Marker>(markerFile(dataFolder))?.pid === process.pid) rmSync(markerFile(dataFolder), { force: true });
}

/** The plugin named by this process's marker. */
export function markedPlugin(dataFolder: string): string | undefined {
  const marker = read<Marker>(markerFile(dataFolder));
  return marker?.pid === process.pid ? marker.plugin : undefined;
}

/** The plugins held back, by id. The marker of a process that is gone puts its plugin among them. */
export function readQuarantine(dataFolder: string): Readonly<Record<string, Held>> {
  const held = read<Record<string, Held>>(heldFile(dataFolder)) ?? {};
  const marker = read<Marker>(markerFile(dataFolder));
  if (marker === undefined || isAlive(marker)) return held;
  const next = { ...held, [marker.plugin]: { phase: marker.phase, reason: wordsFor(marker), at: new Date().toISOString() } };
  write(heldFile(dataFolder), next);
  rmSync(markerFile(dataFolder), { force: true });
  return next;
}

/** Lets a plugin load again at the next start or reload. False when it was not held back. */
export function releaseQuarantine(dataFolder: string, plugin: string): boolean {
  const { [plugin]: found, ...rest } = readQuarantine(dataFolder);
  if (found === undefined) return false;
  write(heldFile(dataFolder), rest);
  return true;
}

/** Runs phases of plugins one after the other, each under its marker, so that a death names exactly one. */
export type Marked = <T>(plugin: string, phase: Phase, work: () => Promise<T>) => Promise<T>;

export function createMarked(dataFolder: string): Marked {
  let last: Promise<unknown> = Promise.resolve();
  return (plugin, phase, work) => {
    const turn = last.then(async () => {
      mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
      markLoading(dataFolder, plugin, phase);
      try {
        return await work();
      } finally {
        unmarkLoading(dataFolder);
      }
    });
    last = turn.catch(() => {});
    return turn;
  };
}

const wordsFor = ({ plugin, phase }: Marker): string =>
  `the daemon died ${phase === "run" ? `while it ran` : `during its ${phase}`}; mend or update it, then: svc plugin retry ${plugin}`;

const isAlive = ({ pid, identity }: Marker): boolean => processAlive(pid) && (identity === undefined || processIdentity(pid) === identity);

/** A file that cannot be read as JSON says nothing: it must not keep the daemon from starting. */
function read<T>(file: string): T | undefined {
  if (!existsSync(file)) return undefined;
  try {
    return JSON.parse(readFileSync(file, "utf8")) as T;
  } catch {
    return undefined;
  }
}

function write(file: string, value: unknown): void {
  const temporary = `${file}.${process.pid}.tmp`;
  const handle = openSync(temporary, "w", 0o600);
  try {
    writeSync(handle, JSON.stringify(value));
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  renameSync(temporary, file);
  const folder = openSync(dirname(file), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
