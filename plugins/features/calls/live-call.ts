import { type CallEnd, type CallMedia, type IceCandidate, type PluginContext, put, reasonOf } from "@svc/sdk";
import { type CallRow, type Ending, endWords, type Line, viewOf } from "./call-row.ts";
import { CallStream } from "./call-stream.ts";
import { fail } from "./errors.ts";

/** Dependencies of one call. */
export interface CallDeps {
  readonly ctx: Pick<PluginContext, "events" | "jobs" | "log" | "store">;
  readonly now: () => number;
  media(): CallMedia;
  /** Milliseconds that a call of this kind may last. */
  limitMs(row: CallRow): number;
  /** Milliseconds that it rings. */
  ringMs(): number;
  /** A line was stored. */
  grown(call: LiveCall): void;
  /** The call has begun. */
  begun(call: LiveCall): void;
  /** The call has ended, and its row is stored. */
  ended(call: LiveCall): void;
}

/** The collection of calls. */
export const ROWS = "calls";
/** Of their transcripts: a document a line. */
export const LINES = "lines";

/** Media that has not connected by then is given up. */
const CONNECT_MS = 40_000;
/** A page of the camera that is gone for so long does not come back. */
const ALONE_MS = 30_000;
const BEAT_MS = 15_000;
const MOST_CANDIDATES = 100;
const MOST_RESTARTS = 50;
/** Limit of one utterance; a longer text is not speech. */
const LINE_CHARS = 4_000;

/** The media cannot take a call: a relay refuses its login, or too many are open. */
const isOurs = (error: unknown): boolean => Number((error as { readonly status?: unknown } | undefined)?.status) >= 500;

/** The key of a line in its collection: in order for each call. */
export const lineKey = (call: string, n: number): string => `${call}.${String(n).padStart(6, "0")}`;

/** A call that rings or runs on this daemon. Its row is written here alone, one write after the other. */
export class LiveCall {
  readonly stream: CallStream;
  readonly #deps: CallDeps;
  readonly #timers: (() => void)[] = [];
  #row: CallRow;
  #media: CallEnd | undefined;
  #opening = false;
  #connected = false;
  /** Nothing of it is taken in any more. */
  #closed = false;
  #candidates = 0;
  #restarts = 0;
  #writes: Promise<unknown> = Promise.resolve();
  #ending: Promise<void> | undefined;

  constructor(row: CallRow, deps: CallDeps) {
    this.#row = row;
    this.#deps = deps;
    this.stream = new CallStream(deps.now);
    this.#at(row.ringUntil, () => this.#missed());
    this.#timers.push(deps.ctx.jobs.every(BEAT_MS, () => this.#beat()));
    this.#publish("ringing");
  }

  get row(): CallRow {
    return this.#row;
  }

  /** The call has ended, or is ending. */
  get over(): boolean {
    return this.#ending !== undefined;
  }

  /** Somebody takes the call where it rang. Throws `SVC_CALLS_ANSWERED` for the second one, and `SVC_CALLS_OVER`. */
  async claim(by: string, surface: string): Promise<void> {
    this.#mustRing();
    if (this.#row.answered !== undefined) throw this.#answered();
    const ringUntil = this.#deps.now() + this.#deps.ringMs();
    await this.change({ answered: { by, surface }, person: by, ringUntil });
    this.#at(ringUntil, () => this.#missed());
    this.stream.tell("call", viewOf(this.#row));
  }

  /** Throws unless an offer would be taken now. */
  mustRing(): void {
    this.#mustRing();
  }

  /** The page's side is there: a call has an offer, and its answer is the media's; a camera session has neither. */
  async begin(offer: string | undefined): Promise<string | undefined> {
    this.#mustRing();
    const { kind } = this.#row;
    if ((kind === "call") !== (offer !== undefined))
      throw fail("SVC_CALLS_OFFER", { reason: kind === "call" ? "it has no SDP" : "a camera session takes none" });
    if (offer !== undefined && !/^v=0\r?\n/.test(offer)) throw fail("SVC_CALLS_OFFER", { reason: "SDP begins with v=0" });
    this.#opening = true;
    let media: CallEnd | undefined;
    try {
      if (offer !== undefined) media = await this.#open(offer);
    } catch (error) {
      this.#opening = false;
      if (this.#deps.now() >= this.#row.ringUntil) void this.end({ reason: "missed" });
      // No other offer of this page would fare better.
      else if (isOurs(error)) void this.end({ reason: "failed", words: reasonOf(error) });
      throw typeof (error as { status?: unknown }).status === "number" ? error : fail("SVC_CALLS_CONNECTION", { reason: reasonOf(error) });
    }
    if (this.#ending !== undefined) {
      await media?.close("the call is over");
      throw this.#gone();
    }
    this.#media = media;
    const now = this.#deps.now();
    const limitAt = now + this.#deps.limitMs(this.#row);
    await this.change({ state: "running", startedAt: now, limitAt });
    this.#opening = false;
    if (this.over) throw this.#gone();
    this.#at(limitAt, () => this.end({ reason: "limit" }));
    if (kind === "call")
      this.#at(now + CONNECT_MS, () => !this.#connected && this.end({ reason: "failed", words: "no connection came about; see TURN in the plugin's README" }));
    this.#publish("running");
    this.stream.tell("call", viewOf(this.#row));
    this.#deps.begun(this);
    return media?.answer;
  }

  /** A candidate of the page; null for the last one. */
  candidate(candidate: IceCandidate | null): void {
    if (this.over) throw this.#gone();
    if (this.#media === undefined) throw fail("SVC_CALLS_NOT_RUNNING", { id: this.#row.id });
    this.#candidates += 1;
    if (this.#candidates > MOST_CANDIDATES) throw fail("SVC_CALLS_CANDIDATES", { id: this.#row.id, most: MOST_CANDIDATES });
    if (candidate !== null)
      this.#media.candidate(candidate).catch((error) => this.#deps.ctx.log.debug({ call: this.#row.id, reason: reasonOf(error) }, "a candidate was not taken"));
  }

  /** The page's network has changed: its offer of another way for the same connection. Resolves with the answer; the call goes on where it rejects. */
  async restart(offer: string): Promise<string> {
    if (this.over) throw this.#gone();
    if (this.#media === undefined) throw fail("SVC_CALLS_NOT_RUNNING", { id: this.#row.id });
    this.#restarts += 1;
    if (this.#restarts > MOST_RESTARTS) throw fail("SVC_CALLS_RESTARTS", { id: this.#row.id, most: MOST_RESTARTS });
    this.#candidates = 0;
    return this.#media.restart(offer);
  }

  /** Records a text of a participant. While the call ends, the media still delivers earlier speech; later speech is dropped. */
  heard(who: string, text: string, atMs = this.#deps.now() - (this.#row.startedAt ?? this.#deps.now())): void {
    const words = text.replace(/\s+/g, " ").trim().slice(0, LINE_CHARS);
    if (this.#closed || words === "") return;
    this.#write(async () => {
      const n = this.#row.said;
      const line: Line = { call: this.#row.id, n, atMs: Math.max(0, Math.round(atMs)), who, text: words };
      const row = { ...this.#row, said: n + 1 };
      await this.#deps.ctx.store.commit([put(LINES, lineKey(line.call, n), line), put(ROWS, row.id, row)]);
      this.#row = { ...this.#row, said: n + 1 };
      this.stream.tell("line", line);
      this.#deps.grown(this);
    }).catch((error) => this.#deps.ctx.log.error({ call: this.#row.id, err: error }, "a line of a call was not stored"));
  }

  /** Changes the row, once what was changed before is stored. */
  change(change: Partial<CallRow>): Promise<void> {
    return this.#write(async () => {
      const row = { ...this.#row, ...change };
      await this.#deps.ctx.store.commit([put(ROWS, row.id, row)]);
      this.#row = row;
    });
  }

  /** Ends it, once: all who end it at the same time wait for the same end. */
  end(how: Ending): Promise<void> {
    this.#ending ??= this.#finish(how);
    return this.#ending;
  }

  async #finish(end: Ending): Promise<void> {
    const { log } = this.#deps.ctx;
    for (const stop of this.#timers.splice(0)) stop();
    const over: Partial<CallRow> = { state: "ended", live: 0, owed: 1, endedAt: this.#deps.now(), end };
    const stored = this.change(over).catch((error) =>
      log.error({ call: this.#row.id, err: error }, "the end of a call was not stored; the next start ends it"),
    );
    const row = { ...this.#row, ...over };
    this.stream.tell("ended", { ...viewOf(row), words: endWords(row) });
    // Speech up to now is still transcribed.
    await this.#media?.close(end.reason).catch((error) => log.warn({ call: row.id, err: error }, "the media of a call did not end well"));
    this.#media = undefined;
    this.#closed = true;
    await stored;
    await this.#writes;
    this.stream.end();
    this.#publish("ended");
    this.#deps.ended(this);
  }

  #open(offer: string): Promise<CallEnd> {
    const { id } = this.#row;
    return this.#deps.media().open({
      id,
      kind: "call",
      offer,
      onCandidate: (candidate) => this.stream.tell("candidate", candidate ?? null),
      onText: ({ atMs, text }) => this.heard(this.#row.person, text, atMs),
      onState: (state, reason) => {
        if (this.over) return;
        this.stream.tell("media", { state });
        if (state === "connected") this.#connected = true;
        // A failure before the offer is answered rejects there.
        if (state === "failed") void this.end({ reason: "failed", words: reason ?? "the connection was lost" });
        if (state === "closed") void this.end({ reason: "hung up", by: this.#row.person });
      },
    });
  }

  #mustRing(): void {
    if (this.over) throw this.#gone();
    if (this.#opening || this.#row.state === "running") throw this.#answered();
    if (this.#deps.now() < this.#row.ringUntil) return;
    void this.end({ reason: "missed" });
    throw this.#gone();
  }

  #answered(): Error {
    const { id, answered } = this.#row;
    return fail("SVC_CALLS_ANSWERED", { id, by: answered === undefined ? "" : ` by ${answered.by} on ${answered.surface}` });
  }

  #gone(): Error {
    const { id, end } = this.#row;
    return fail("SVC_CALLS_OVER", { id, how: end === undefined ? "it has just ended" : endWords(this.#row) });
  }

  #write<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#writes.then(work);
    this.#writes = done.catch(() => {});
    return done;
  }

  /** The call was not taken in time, nor in the extra time after it was taken. */
  #missed(): unknown {
    const { state, ringUntil } = this.#row;
    return state === "ringing" && !this.#opening && this.#deps.now() >= ringUntil && this.end({ reason: "missed" });
  }

  /** By the wall clock; a timer that fires after the end does nothing. */
  #at(time: number, run: () => unknown): void {
    if (this.over) return;
    this.#timers.push(
      this.#deps.ctx.jobs.at(time, async () => {
        if (!this.over) await run();
      }),
    );
  }

  #beat(): void {
    this.stream.beat();
    const { aloneMs } = this.stream;
    if (this.#row.kind === "camera" && this.#row.state === "running" && aloneMs !== undefined && aloneMs > ALONE_MS)
      void this.end({ reason: "hung up", words: "the page was closed" });
  }

  /** Tells the bus what happened; never a word that was said. */
  #publish(type: "ringing" | "running" | "ended"): void {
    const { id, kind, direction, agent, end } = this.#row;
    this.#deps.ctx.events.publish({
      kind: "call",
      type: `call:${type}`,
      agentId: agent,
      ref: id,
      summary: `${kind} ${id} ${direction === "in" ? "to" : "of"} ${agent}: ${type === "ended" ? endWords({ ...this.#row, ...(end && { end: { reason: end.reason } }) }) : type}`,
      data: { call: id, kind, direction, state: this.#row.state, ...(end === undefined ? {} : { reason: end.reason }) },
    });
  }
}
