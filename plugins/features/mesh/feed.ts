import { type Collection, type Envelope, onAbort, type PluginContext, readEventStream, reasonOf, type StreamingFetch, sleep, withTimeout } from "@svc/sdk";
import type { Peer } from "./settings.ts";

/** Dependencies of the feed. */
export interface FeedOptions extends Pick<PluginContext, "events" | "log" | "node"> {
  readonly fetch: StreamingFetch;
  readonly skipTypes: readonly string[];
  /** The last event of each peer, by its name. */
  readonly cursors: Collection<Cursor>;
  readonly signal: AbortSignal;
}

/** Read position in a peer's events. */
export interface Cursor {
  readonly lastId: string;
}

const FIRST_PAUSE_MS = 1_000;
const MOST_PAUSE_MS = 60_000;
/** A peer without the feed is asked again so often (MESH-04). */
const WITHOUT_MS = 600_000;
/** A comment comes every 15 s. */
const IDLE_MS = 60_000;
/** Time within which a stream of another format is recognised. */
const EARLY_MS = 500;
const PAGE = 200;
/** A wire that breaks within a page of this size gives no page at all. */
const LEAST_PAGE = 5;
const MOST_BYTES = 67_108_864;
/** Of one event: many times what an envelope may have. */
const MOST_CHARS = 1_048_576;
const SAVE_MS = 1_000;
/** Event kinds that concern their own machine alone (MESH-05). */
const LOCAL_KINDS = ["status", "voice"];

/** A peer from before there was a feed. */
class NoFeed extends Error {}

/** State of the connection to a peer, over reconnects. */
interface Wire {
  /** Events that are asked for at once, when some were missed: fewer after each time that none came. */
  page: number;
  /** Events that came on this connection. */
  came: number;
  /** The event behind which a gap was told: it is told once, also where nothing has come after it. */
  gapBehind?: string;
  /** An invalid event was reported already. */
  told?: true;
}

/**
 * Follows the events that one peer publishes itself, until `signal` aborts: first the stream, then what was missed, so that nothing falls
 * between; the bus takes each event once. Nothing of it is handed on to a third.
 */
export async function follow(peer: Peer, options: FeedOptions): Promise<void> {
  const { signal, log } = options;
  const state = { down: false, without: false };
  const wire: Wire = { page: PAGE, came: 0 };
  for (let pause = FIRST_PAUSE_MS; !signal.aborted; ) {
    let waitMs = pause;
    wire.came = 0;
    try {
      await once(peer, options, wire, () => {
        if (state.down) tell(options, "feed:up", peer);
        [state.down, state.without, pause] = [false, false, FIRST_PAUSE_MS];
      });
      waitMs = FIRST_PAUSE_MS;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof NoFeed) {
        if (!state.without) log.info({ peer: peer.name }, "a peer has no feed of events: it is asked again every 10 minutes");
        state.without = true;
        waitMs = WITHOUT_MS;
      } else {
        // However often it is tried, an outage is one event.
        if (!state.down && !state.without) tell(options, "feed:down", peer, reasonOf(error));
        state.down = !state.without;
        // A wire that breaks again and again, but carries something, is not given rest: it would fall behind for ever.
        if (wire.came > 0) waitMs = pause = FIRST_PAUSE_MS;
        else pause = Math.min(2 * pause, MOST_PAUSE_MS);
      }
    }
    await sleep(waitMs, signal).catch(() => undefined);
  }
}

const tell = ({ events }: FeedOptions, type: string, { name }: Peer, reason?: string): void =>
  void events.publish({
    kind: "mesh",
    type,
    summary: `events of ${name}: ${type.slice("feed:".length)}`,
    data: { peer: name, ...(reason === undefined ? {} : { reason }) },
  });

/** One connection, until it ends. Throws when it cannot be made or breaks. */
async function once(peer: Peer, options: FeedOptions, wire: Wire, up: () => void): Promise<void> {
  const { fetch, signal, skipTypes } = options;
  const node = await nodeOf(peer, options);
  const skip = skipTypes.length === 0 ? "" : `&skip=${encodeURIComponent(skipTypes.join(","))}`;
  // An event that is waited for ends with the connection alone.
  const connection = new AbortController();
  const stop = onAbort(signal, (reason) => connection.abort(reason));
  try {
    const stream = await fetch.stream(`${base(peer)}/events?format=envelope&origin=local${skip}`, {
      ...access(peer),
      signal: connection.signal,
      idleMs: IDLE_MS,
    });
    if (stream.status === 404) throw new NoFeed();
    if (stream.status !== 200) throw new Error(`it answered ${stream.status}`);
    await read(stream.body, { node, skip, peer, wire, options }, up);
  } finally {
    stop();
    connection.abort();
  }
}

/** One connection to a peer. */
interface Connection {
  /** The id under which the peer publishes. */
  readonly node: string;
  readonly skip: string;
  readonly peer: Peer;
  readonly wire: Wire;
  readonly options: FeedOptions;
}

/** Reads a stream that is open, to its end. */
async function read(body: AsyncIterable<Uint8Array>, connection: Connection, up: () => void): Promise<void> {
  const { peer, options } = connection;
  const book = new CursorBook(peer.name, options);
  const events = readEventStream(body, { maxChars: MOST_CHARS })[Symbol.asyncIterator]();
  // The stream is open: what comes from now on is in it, and what came before is read beside it.
  const first = events.next();
  first.catch(() => undefined);
  try {
    // One from before there was a feed says how it is at once, in a stream of another kind.
    const early = await withTimeout(first, EARLY_MS, () => undefined, options.signal);
    if (early?.done === false && early.value.event === "status") throw new NoFeed();
    await catchUp(connection, book);
    up();
    for (let next = await first; next.done !== true; next = await events.next()) {
      if (next.value.event === "envelope") take(envelopeOf(next.value.data), connection, book);
    }
  } finally {
    await book.save();
  }
}

/** Reads the events missed since the last known one. At first contact there are none. */
async function catchUp(connection: Connection, book: CursorBook): Promise<void> {
  const { peer, wire, options } = connection;
  for (let since = await book.read(); since !== undefined; ) {
    const { page } = wire;
    // Until it has come: a page that breaks is asked for anew, and shorter.
    wire.page = Math.max(LEAST_PAGE, Math.floor(page / 3));
    let missed = await ask(connection, since, `&keep=oldest&limit=${page}`);
    // One from before there were pages has left out the oldest of more.
    if (missed.more === undefined && missed.events.length >= page) missed = await ask(connection, since, "");
    wire.page = Math.min(PAGE, page * 2);
    if (missed.gap && wire.gapBehind !== since) tell(options, "feed:gap", peer);
    if (missed.gap) wire.gapBehind = since;
    for (const event of missed.events) take(event, connection, book);
    const last = missed.events.at(-1)?.id;
    since = missed.more === true && last !== since ? last : undefined;
  }
}

interface Missed {
  readonly events: readonly Envelope[];
  readonly gap?: true;
  readonly more?: boolean;
}

async function ask({ peer, skip, options }: Connection, since: string, page: string): Promise<Missed> {
  const answer = await options.fetch(`${base(peer)}/events/recent?origin=local&since=${encodeURIComponent(since)}${page}${skip}`, {
    ...access(peer),
    signal: options.signal,
    maxBytes: MOST_BYTES,
  });
  if (answer.status !== 200) throw new Error(`it answered ${answer.status} when asked for what was missed`);
  const { events = [], gap, more } = JSON.parse(answer.text()) as Partial<Missed>;
  return { events, ...(gap ? { gap } : {}), ...(more === undefined ? {} : { more }) };
}

/** Parses a frame; undefined if it is not JSON: it is dropped like any other invalid envelope. */
function envelopeOf(data: string): Envelope | undefined {
  try {
    return JSON.parse(data) as Envelope;
  } catch {
    return undefined;
  }
}

function take(envelope: Envelope | null | undefined, { peer, node, wire, options }: Connection, book: CursorBook): void {
  const { events, log, skipTypes } = options;
  if (envelope?.node !== undefined && envelope.node !== node) return;
  wire.came += 1;
  try {
    const { kind, type } = envelope ?? {};
    if (!LOCAL_KINDS.includes(String(kind)) && !skipTypes.includes(String(type))) events.inject(envelope as Envelope);
  } catch (error) {
    // A peer of another version may send many of them.
    if (!wire.told) log.warn({ peer: peer.name, reason: reasonOf(error) }, "an event of a peer is none and was dropped; others like it are dropped in silence");
    wire.told = true;
    return;
  }
  // An event that is not forwarded is a read position, too: after its restart a peer may have no other.
  if (typeof envelope?.id === "string") book.keep(envelope.id);
}

/** Under which id the peer publishes: its own word, on the connection that its address and token make. */
async function nodeOf(peer: Peer, { fetch, signal }: FeedOptions): Promise<string> {
  const answer = await fetch(`${base(peer)}/mesh/node`, { ...access(peer), signal });
  if (answer.status === 401) throw new Error("it does not know the token of this daemon (401)");
  const { id = peer.name } = (answer.status === 200 ? JSON.parse(answer.text()) : {}) as { id?: string };
  return id;
}

const base = ({ url }: Peer): string => url.replace(/\/+$/, "");

const access = ({ token, url }: Peer) => ({
  headers: token === undefined || token.trim() === "" ? {} : { authorization: `Bearer ${token}` },
  maxRedirects: 0,
  trustedOrigins: [new URL(url).origin],
});

/** Writes the last event down, at most once a second. */
class CursorBook {
  readonly #peer: string;
  readonly #cursors: Collection<Cursor>;
  #last: string | undefined;
  #saved = 0;
  #writing: Promise<unknown> = Promise.resolve();

  constructor(peer: string, { cursors }: Pick<FeedOptions, "cursors">) {
    this.#peer = peer;
    this.#cursors = cursors;
  }

  async read(): Promise<string | undefined> {
    return (await this.#cursors.get(this.#peer))?.value.lastId;
  }

  keep(id: string): void {
    this.#last = id;
    if (Date.now() - this.#saved >= SAVE_MS) void this.save();
  }

  async save(): Promise<void> {
    if (this.#last === undefined) return;
    this.#saved = Date.now();
    const lastId = this.#last;
    // One that is lost is read again, and the bus knows it.
    this.#writing = this.#writing.then(() => this.#cursors.put(this.#peer, { lastId })).catch(() => undefined);
    await this.#writing;
  }
}
