import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { processAlive, processIdentity } from "../base/process-identity.ts";

/** Phase of a plugin in progress. `run`: anything after its start. */
export type SuspectPhase = "import" | "setup" | "start" | "run";

/** Why a plugin is kept from loading. `at` is ISO 8601. */
export interface Quarantined {
  readonly phase: SuspectPhase;
  readonly reason: string;
  readonly at: string;
}

/** The plugin whose code runs under a marker: the id by which it is quarantined, and its version, where it has one. */
interface Suspect {
  readonly id: string;
  readonly version?: string;
}

interface Marker {
  readonly plugin: string;
  readonly version?: string;
  readonly phase: SuspectPhase;
  /** The watchdog saw this plugin hold the loop: no other can be to blame. */
  readonly certain?: true;
  readonly pid: number;
  /** Distinguishes the process from a later one with the same id; absent if the system does not provide it. */
  readonly identity?: string;
}

const markerFile = (dataFolder: string): string => join(dataFolder, "loading.json");
const quarantineFile = (dataFolder: string): string => join(dataFolder, "quarantine.json");
/** The version of each plugin that a daemon on this folder has brought up, since it last died under its marker. */
const provenFile = (dataFolder: string): string => join(dataFolder, "proven.json");

/**
 * Notes on disk whose code is about to run: should this process die now, that plugin is the suspect at the next start. Synchronous,
 * so that nothing runs in between. Another live process's marker is left alone.
 */
function markLoading(dataFolder: string, { id, version }: Suspect, phase: SuspectPhase): void {
  if (isTaken(dataFolder)) return;
  note(markerFile(dataFolder), { plugin: id, ...(version === undefined ? {} : { version }), phase, ...thisProcess() } satisfies Marker);
}

/** Records on disk that this plugin is certainly at fault: it is quarantined at the next start, even if it started successfully before. */
export function accuse(dataFolder: string, plugin: string): void {
  if (isTaken(dataFolder)) return;
  const standing = markerIn(dataFolder);
  const phase = standing?.pid === process.pid && standing.plugin === plugin ? standing.phase : "run";
  note(markerFile(dataFolder), { plugin, phase, certain: true, ...thisProcess() } satisfies Marker);
}

function isTaken(dataFolder: string): boolean {
  const standing = markerIn(dataFolder);
  return standing !== undefined && standing.pid !== process.pid && isAlive(standing);
}

function thisProcess(): Pick<Marker, "pid" | "identity"> {
  const identity = processIdentity(process.pid);
  return { pid: process.pid, ...(identity === undefined ? {} : { identity }) };
}

/** Removes the marker of this process: it is alive and well. */
export function unmarkLoading(dataFolder: string): void {
  if (markerIn(dataFolder)?.pid === process.pid) rmSync(markerFile(dataFolder), { force: true });
}

/** The plugin named by this process's marker. */
export function markedPlugin(dataFolder: string): string | undefined {
  const marker = markerIn(dataFolder);
  return marker?.pid === process.pid ? marker.plugin : undefined;
}

/**
 * Returns the quarantined plugins, by id. The marker of a process that has ended adds its plugin: at once if it never started in this version, at the
 * second consecutive time if it did. A power failure or an external kill can mark a plugin that is not at fault.
 */
export function readQuarantine(dataFolder: string): Readonly<Record<string, Quarantined>> {
  const noted = read<Record<string, Quarantined>>(quarantineFile(dataFolder)) ?? {};
  const marker = markerIn(dataFolder);
  if (marker === undefined || isAlive(marker)) return noted;
  const { [marker.plugin]: proven, ...others } = read<Record<string, string>>(provenFile(dataFolder)) ?? {};
  if (marker.certain !== true && proven === versionOf(marker)) {
    // In this order: dying in between, it has not used up its chance.
    rmSync(markerFile(dataFolder), { force: true });
    note(provenFile(dataFolder), others);
    return noted;
  }
  const next = { ...noted, [marker.plugin]: { phase: marker.phase, reason: wordsFor(marker), at: new Date().toISOString() } };
  keep(quarantineFile(dataFolder), next);
  rmSync(markerFile(dataFolder), { force: true });
  return next;
}

/** Holds a plugin back from the next load on. */
export function quarantinePlugin(dataFolder: string, plugin: string, why: Quarantined): void {
  keep(quarantineFile(dataFolder), { ...readQuarantine(dataFolder), [plugin]: why });
}

/** Lets a plugin load again at the next start or reload. False when it was not quarantined. */
export function releaseQuarantine(dataFolder: string, plugin: string): boolean {
  const { [plugin]: found, ...rest } = readQuarantine(dataFolder);
  if (found === undefined) return false;
  keep(quarantineFile(dataFolder), rest);
  return true;
}

function prove(dataFolder: string, suspect: Suspect): void {
  const proven = read<Record<string, string>>(provenFile(dataFolder)) ?? {};
  if (proven[suspect.id] !== versionOf(suspect)) note(provenFile(dataFolder), { ...proven, [suspect.id]: versionOf(suspect) });
}

const versionOf = ({ version = "" }: { readonly version?: string }): string => version;

/** Runs phases of plugins one after the other, each under its marker, so that a death names exactly one. */
export type Marked = <T>(suspect: Suspect, phase: SuspectPhase, work: () => Promise<T>) => Promise<T>;

/** Makes the marker of a data folder; see `Marked`. */
export function createMarked(dataFolder: string): Marked {
  let last: Promise<unknown> = Promise.resolve();
  return (suspect, phase, work) => {
    const turn = last.then(async () => {
      mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
      markLoading(dataFolder, suspect, phase);
      try {
        const done = await work();
        if (phase === "start") prove(dataFolder, suspect);
        return done;
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

/** The marker that stands there; none where the file names no plugin. */
function markerIn(dataFolder: string): Marker | undefined {
  const marker = read<Marker>(markerFile(dataFolder));
  return typeof marker?.plugin === "string" ? marker : undefined;
}

/** A file without a JSON object counts as absent: it must not keep the daemon from starting. */
function read<T>(file: string): T | undefined {
  if (!existsSync(file)) return undefined;
  try {
    const content: unknown = JSON.parse(readFileSync(file, "utf8"));
    return typeof content === "object" && content !== null ? (content as T) : undefined;
  } catch {
    return undefined;
  }
}

/** A killed process does not undo it, a power cut may: then no code was to blame. */
function note(file: string, value: unknown): void {
  const temporary = `${file}.${process.pid}.tmp`;
  writeFileSync(temporary, JSON.stringify(value), { mode: 0o600 });
  renameSync(temporary, file);
}

function keep(file: string, value: unknown): void {
  const temporary = `${file}.${process.pid}.tmp`;
  writeFileSync(temporary, JSON.stringify(value), { mode: 0o600, flush: true });
  renameSync(temporary, file);
  const folder = openSync(dirname(file), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
