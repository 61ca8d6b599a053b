import { createHash } from "node:crypto";
import { join } from "node:path";
import { type Confined, type Inbound, type Log, type Media, reasonOf, sleep, type TraceStep, type Turn } from "@svc/sdk";
import { sweepTemporary } from "../base/atomic-file.ts";
import { createFolder } from "../capabilities/files/files.ts";
import { type FetchedTurn, MEDIA_FOLDER, type MediaDeps } from "../core/flow/media-port.ts";
import { inScope } from "../core/host/call.ts";
import type { Live } from "../core/host/live.ts";
import type { ProvidedChannel } from "../core/host/scope.ts";

/** Limits of fetching for one turn. */
export interface MediaLimits {
  readonly files: number;
  /** All of a turn together. */
  readonly bytes: number;
  readonly ms: number;
}

const LIMITS: MediaLimits = { files: 20, bytes: 25 * 1_048_576, ms: 30_000 };
const PARALLEL = 4;
/** Number of attempts within the time limit when a platform is temporarily unavailable. */
const TRIES = 4;
const PAUSE_MS = 500;
const NAME_CHARS = 80;

type Messages = Turn["messages"];
type Outcome = { readonly path: string; readonly size: number; readonly type?: string } | { readonly refused: string };

/** One handle of a message, and the result of fetching it. */
interface Wanted {
  readonly message: Inbound;
  readonly media: Media & { readonly handle: string };
  outcome?: Outcome;
}

/** The state of one turn's fetching. */
interface Fetching {
  readonly limits: MediaLimits;
  readonly folder: Confined;
  readonly log: Log;
  readonly live: Live;
  /** Aborts when the time is over, and with the turn. */
  readonly signal: AbortSignal;
  /** Of all files that are admitted so far. */
  bytes: number;
}

/** Fetches the files of turns into the data folder; see `MediaPart`. */
export function createFetch(
  { dataFolder, log }: MediaDeps,
  limits: MediaLimits = LIMITS,
): (turn: Turn, live: Live, signal: AbortSignal) => Promise<FetchedTurn> {
  const folder = createFolder(join(dataFolder, MEDIA_FOLDER));
  return async (turn, live, signal) => {
    const at = Date.now();
    const over = new AbortController();
    const timer = setTimeout(() => over.abort(new Error("too late")), limits.ms);
    const fetching: Fetching = { limits, folder, log, live, signal: AbortSignal.any([signal, over.signal]), bytes: 0 };
    const wanted = turn.messages.flatMap((message) => (message.media ?? []).flatMap((media) => (isHandle(media) ? [{ message, media } as Wanted] : [])));
    try {
      for (const one of wanted.slice(limits.files)) one.outcome = { refused: `more than ${limits.files} files came at once` };
      const queue = wanted.slice(0, limits.files);
      await Promise.all(Array.from({ length: PARALLEL }, () => work(queue, fetching)));
    } finally {
      clearTimeout(timer);
    }
    const messages = turn.messages.map((message) => withFiles(message, wanted)) as unknown as Messages;
    const told = wanted.filter(({ message }) => message.entry === "channel").flatMap(noteOf);
    return { turn: { ...turn, messages }, notice: told.length === 0 ? "" : `${told.join("\n")}\n\n`, step: stepOf(wanted, at) };
  };
}

const isHandle = (media: Media): media is Wanted["media"] => media.handle !== undefined && media.path === undefined && media.data === undefined;

async function work(queue: Wanted[], fetching: Fetching): Promise<void> {
  for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
    try {
      one.outcome = await fetchOne(one, fetching);
    } catch (error) {
      fetching.log.warn({ task: one.message.id, channel: one.message.channel, reason: reasonOf(error) }, "a file that came with a message was not fetched");
      one.outcome = { refused: fetching.signal.aborted ? `it was not there within ${fetching.limits.ms / 1000} s` : "it could not be had from the platform" };
    }
  }
}

/** Reads a file that an earlier run has stored, or fetches it from the platform. The declared size and type only decide what is not fetched at all. */
async function fetchOne({ message, media }: Wanted, fetching: Fetching): Promise<Outcome> {
  const { folder, limits, live } = fetching;
  const name = createHash("sha256").update(media.handle).digest("hex").slice(0, 24);
  const there = await folder.list(message.id).catch(() => []);
  // Of a process that was killed while it wrote.
  if (there.length > 0) await sweepTemporary(await folder.resolve(message.id));
  const found = there.find((entry) => entry.kind === "file" && entry.name.startsWith(`${name}.`));
  if (found !== undefined) return admit(found.size, fetching) ?? { path: await folder.resolve(join(message.id, found.name)), size: found.size };
  const claimed = typeof media.size === "number" && media.size > 0 ? media.size : 0;
  const refused = admit(claimed, fetching);
  if (refused !== undefined) return refused;
  /** Reserved from the size limit of the turn, and released unless the file is stored. */
  let reserved = claimed;
  try {
    const channel = live.channels.get(message.channel);
    if (channel?.thing.fetchMedia === undefined) return { refused: `${message.channel} hands no files out` };
    const { data, type } = await ask(channel, media, fetching.signal);
    if (!(data instanceof Uint8Array)) throw new Error(`channel ${message.channel} answered fetchMedia without bytes`);
    fetching.bytes -= reserved;
    reserved = 0;
    const tooMuch = admit(data.byteLength, fetching);
    if (tooMuch !== undefined) return tooMuch;
    reserved = data.byteLength;
    const file = join(message.id, `${name}.${endingOf(data)}`);
    await folder.write(file, data);
    const path = await folder.resolve(file);
    reserved = 0;
    return { path, size: data.byteLength, ...(typeof type === "string" ? { type } : {}) };
  } finally {
    fetching.bytes -= reserved;
  }

  function admit(size: number, { bytes }: Fetching): Outcome | undefined {
    const megabytes = Math.floor(limits.bytes / 1_048_576);
    if (size > limits.bytes) return { refused: `it is larger than ${megabytes} MB` };
    if (bytes + size > limits.bytes) return { refused: `the files that came at once are more than ${megabytes} MB` };
    fetching.bytes += size;
    return undefined;
  }
}

/** Downloads a file from the platform. A temporary failure is retried within the time limit; a call that hangs is abandoned at its end. */
async function ask({ thing, scope }: ProvidedChannel, { handle, kind, type, size }: Wanted["media"], signal: AbortSignal) {
  const given: Media = { handle, kind, ...(type === undefined ? {} : { type }), ...(size === undefined ? {} : { size }) };
  const both = AbortSignal.any([signal, scope.abort.signal]);
  for (let tries = 1; ; tries += 1) {
    both.throwIfAborted();
    try {
      const asked = inScope(scope, async () => thing.fetchMedia?.(given, both));
      const found: { readonly data?: unknown; readonly type?: unknown } | undefined = await untilAborted(asked, both);
      return found ?? {};
    } catch (error) {
      const { failure, retryAfterMs } = error as { failure?: string; retryAfterMs?: number };
      if (tries === TRIES || both.aborted || (failure !== "retry" && failure !== "unknown")) throw error;
      await sleep(retryAfterMs ?? PAUSE_MS * 2 ** (tries - 1), both);
    }
  }
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

/** Derives the extension from the bytes, so that programs which rely on it recognise the type. */
function endingOf(data: Uint8Array): string {
  const starts = (...bytes: readonly number[]) => bytes.every((byte, at) => data[at] === byte);
  if (starts(0x89, 0x50, 0x4e, 0x47)) return "png";
  if (starts(0xff, 0xd8, 0xff)) return "jpg";
  if (starts(0x47, 0x49, 0x46, 0x38)) return "gif";
  return starts(0x52, 0x49, 0x46, 0x46) && Buffer.from(data.subarray(8, 12)).toString("latin1") === "WEBP" ? "webp" : "bin";
}

/** Returns the message with its files; missing ones are named in its text. */
function withFiles(message: Inbound, wanted: readonly Wanted[]): Inbound {
  const own = wanted.filter((one) => one.message === message);
  if (own.length === 0) return message;
  const media = (message.media ?? []).flatMap((item): Media[] => {
    const outcome = own.find((one) => one.media === item)?.outcome;
    if (outcome === undefined) return isHandle(item) ? [] : [item];
    if ("refused" in outcome) return [];
    const { handle: _, ...rest } = item;
    return [{ ...rest, ...outcome }];
  });
  const { media: _, ...rest } = message;
  const text = [message.text, ...own.flatMap(noteOf)].filter((line) => line !== "").join("\n\n");
  return { ...rest, text, ...(media.length === 0 ? {} : { media }) };
}

function noteOf({ media, outcome }: Wanted): string[] {
  return outcome !== undefined && "refused" in outcome ? [`(${nameOf(media)} was not taken: ${outcome.refused}.)`] : [];
}

/** Names come from senders: reduced to one line without control characters. */
const nameOf = ({ name, kind }: Media): string => {
  const plain = (name ?? "").replace(/[\p{C}\p{Z}]+/gu, " ").trim();
  return plain === "" ? `a file (${kind})` : [...plain].slice(0, NAME_CHARS).join("");
};

function stepOf(wanted: readonly Wanted[], at: number): TraceStep {
  const taken = wanted.flatMap(({ outcome }) => (outcome !== undefined && "path" in outcome ? [outcome.size] : []));
  const refused = wanted.flatMap(({ outcome }) => (outcome !== undefined && "refused" in outcome ? [outcome.refused] : []));
  const megabytes = (taken.reduce((sum, size) => sum + size, 0) / 1_048_576).toFixed(1);
  return {
    name: "media",
    kind: "prepare",
    at,
    durationMs: Date.now() - at,
    output: `${taken.length} of ${wanted.length} files, ${megabytes} MB`,
    ...(refused.length === 0 ? {} : { error: `not taken: ${[...new Set(refused)].join("; ")}` }),
  };
}
