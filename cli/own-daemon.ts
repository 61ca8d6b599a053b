import { accessSync, constants, readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import { INSTANCE, INSTANCE_EXPECTED, readInstance } from "@svc/kernel/instance";
import { type Address, ask, type Frame, type Method, stream, type Terms } from "./client.ts";
import { fail } from "./errors.ts";

/** Note of the running daemon for the command line. */
export interface DaemonNote {
  readonly pid: number;
  readonly host: string;
  readonly port: number;
  readonly startedAt: number;
  /** The identity of the data folder it runs on. Absent in the note of an older daemon. */
  readonly instance?: string;
  /** Path of its log file. Absent for a daemon in the foreground. */
  readonly log?: string;
  /** The file of its program, links followed. Absent in the note of an older daemon. */
  readonly program?: string;
}

/** The note of a data folder; undefined where there is none, or one that says nothing, such as a file that a power cut has emptied. */
export function readNote(dataFolder: string): DaemonNote | undefined {
  try {
    const note = JSON.parse(readFileSync(join(dataFolder, "daemon.json"), "utf8"));
    return isNote(note) ? note : undefined;
  } catch {
    return undefined;
  }
}

function isNote(value: unknown): value is DaemonNote {
  const { pid, host, port } = (value ?? {}) as Partial<Record<keyof DaemonNote, unknown>>;
  return Number.isInteger(pid) && typeof host === "string" && Number.isInteger(port);
}

/** The folder whose daemon is meant, and where that would answer. */
export interface Home {
  readonly folder: string;
  readonly dataFolder: string;
  address(): Address;
  note(): DaemonNote | undefined;
}

/** The daemon of one folder, and never another one. */
export interface OwnDaemon {
  request(method: Method, path: string, body?: unknown, headers?: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<unknown>;
  frames(method: "GET" | "POST", path: string, body?: unknown, options?: Pick<Terms, "headers" | "signal">): AsyncGenerator<Frame>;
}

/**
 * Sends requests to the daemon of this folder only. Each request names the data folder it is meant for, so that another folder's daemon refuses it
 * before it does anything, and each answer must come from there. Throws `SVC_CLI_NO_DAEMON`, `SVC_CLI_OTHER_DAEMON`, `SVC_CLI_OTHER_PROGRAM` or
 * `SVC_CLI_LOST_FOLDER` where another daemon, or none, answers, and `SVC_CLI_SILENT` where it does not say how it is.
 */
export function ownDaemon(home: Home): OwnDaemon {
  return {
    async request(method, path, body, headers = {}, signal) {
      const patience = signal ?? (path === "/health" ? AbortSignal.timeout(HEALTH_MS) : undefined);
      try {
        const terms = await agree(home, method, patience);
        return await ask(home.address(), method, path, body, {
          ...terms,
          ...(patience === undefined ? {} : { signal: patience }),
          headers: { ...WORKS_FOR, ...headers, ...terms.headers },
        });
      } catch (error) {
        throw signal === undefined && patience?.aborted === true ? await silent(home) : error;
      }
    },
    async *frames(method, path, body, { headers = {}, signal } = {}) {
      const terms = await agree(home, method);
      yield* stream(home.address(), method, path, body, {
        ...terms,
        ...(signal === undefined ? {} : { signal }),
        headers: { ...WORKS_FOR, ...headers, ...terms.headers },
      });
    },
  };
}

/** A daemon says how it is at once; one that has not by then hangs. In milliseconds. */
const HEALTH_MS = 10_000;

/** The error of a daemon that has not answered in time; another program may have taken its port. */
async function silent(home: Home): Promise<Error> {
  const pid = home.note()?.pid;
  return pid !== undefined && isAlive(pid) ? fail("SVC_CLI_SILENT", { pid, seconds: HEALTH_MS / 1_000 }) : stranger(home);
}

/** Returns the headers for our own daemon; throws when another program answers. */
async function agree(home: Home, method: Method, signal?: AbortSignal): Promise<Terms> {
  const note = home.note();
  const own = readInstance(home.dataFolder);
  const proof = localProof(home.dataFolder);
  if (note !== undefined && note.instance === undefined && (await holdsLock(home, note.pid))) return { headers: proof };
  if (own === undefined) throw await stranger(home);
  const expected = { [INSTANCE_EXPECTED]: own };
  const judge = async ({ headers, statusCode }: IncomingMessage) => {
    if (headers[INSTANCE] !== own || statusCode === MISDIRECTED) throw await stranger(home);
  };
  // A program that ignores such headers would carry out the request, and receive our secret: require its identity first.
  if ((method !== "GET" || Object.hasOwn(proof, LOCAL_PROOF)) && !(note?.instance === own && isAlive(note.pid)))
    await ask(home.address(), "GET", "/health", undefined, { headers: expected, judge, ...(signal === undefined ? {} : { signal }) });
  return { headers: { ...proof, ...expected }, judge };
}

/** Header with the task of the agent that has started this program, so that its requests stay on the same chain. */
const WORKS_FOR: Readonly<Record<string, string>> = /^[\w.:@-]{1,200}$/.test(process.env.SVC_TASK_ID ?? "")
  ? { "x-svc-task": process.env.SVC_TASK_ID ?? "" }
  : {};

const LOCAL_PROOF = "x-svc-local";

/** Returns the header that proves to a daemon with `node.localSecret` that we may read its files; empty without its file. */
function localProof(dataFolder: string): Readonly<Record<string, string>> {
  try {
    return { [LOCAL_PROOF]: readFileSync(join(dataFolder, "local-secret"), "utf8") };
  } catch {
    return {};
  }
}

const MISDIRECTED = 421;

/** An older daemon says nothing of its folder; while it holds the folder's lock, it is ours. */
async function holdsLock({ dataFolder }: Home, pid: number): Promise<boolean> {
  const { lockHolder } = await import("@svc/kernel/folder");
  return lockHolder(dataFolder)?.pid === pid;
}

/** The error of a folder whose daemon does not answer: no process does, or another one. */
export async function stranger({ folder, dataFolder, address }: Home): Promise<Error> {
  const { describeDaemon, freePort, whoseIs } = await import("./whose.js");
  if (isForbidden(dataFolder)) return fail("SVC_CLI_FORBIDDEN", { data: dataFolder });
  const at = address();
  const { host, port } = at;
  const whose = await whoseIs(at);
  if (whose.who === "nobody") return fail("SVC_CLI_NO_DAEMON", { address: `${host}:${port}` });
  if (whose.who === "daemon" && whose.folder === folder) return fail("SVC_CLI_LOST_FOLDER", { pid: whose.pid, data: dataFolder });
  const free = `${host}:${await freePort({ host, port: port + 1 })}`;
  if (whose.who === "program") return fail("SVC_CLI_OTHER_PROGRAM", { address: `${host}:${port}`, free });
  return fail("SVC_CLI_OTHER_DAEMON", { port, whose: describeDaemon(whose), free });
}

function isForbidden(folder: string): boolean {
  try {
    accessSync(folder, constants.R_OK | constants.X_OK);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EACCES";
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
