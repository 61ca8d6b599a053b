import type { ServerResponse } from "node:http";
import type { EventStream } from "@svc/sdk";

/** An event stream that also takes frames which were serialised before: one text for many streams. */
export interface FrameStream extends EventStream {
  /** Writes one or more whole frames, as `frameOf` returns them. Returns false if the client is gone or was dropped. */
  write(frames: string): boolean;
  /** Bytes that the client has not taken yet. */
  readonly writableLength: number;
  /** Runs once, when the stream has ended by whatever cause; at once when it already has. */
  onClose(listener: () => void): void;
}

/** Serializes one server-sent event. */
export function frameOf(name: string, data: unknown, id?: string): string {
  return `${id === undefined ? "" : `id: ${oneLine(id)}\n`}event: ${oneLine(name)}\ndata: ${JSON.stringify(data) ?? "null"}\n\n`;
}

const PATIENCE_MS = 10_000;

/** Server-sent event stream on a response whose headers are not written yet. Frames of one turn of the event loop are written as one chunk. */
export class ServerSentStream implements FrameStream {
  closed = false;
  /** Whether the response has been started, or is about to: its status can no longer change. */
  opened = false;
  readonly #raw: ServerResponse;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #maxWaiting: number;
  readonly #leavesOut: boolean;
  #pending = "";
  /** Number of consecutive frames that were left out, and the newest of them. */
  #omitted = 0;
  #newest = "";
  #scheduled = false;
  #listeners: (() => void)[] = [];

  /**
   * `deferred`: headers wait for the first frame, so that until then another answer is possible. `maxWaiting`: bytes that may be buffered for a slow
   * client; above it the client is dropped. With `leavesOut` it is kept, and misses events until it has caught up: a frame `omitted` contains their
   * number, and the last frame of all is always sent.
   */
  constructor(raw: ServerResponse, headers: Readonly<Record<string, string>>, deferred: boolean, maxWaiting: number, leavesOut = false) {
    this.#leavesOut = leavesOut;
    this.#raw = raw;
    this.#headers = headers;
    this.#maxWaiting = maxWaiting;
    raw.on("close", () => this.#close());
    // A reset connection: `close` follows and says all there is to say.
    raw.on("error", () => {});
    if (!deferred) this.#schedule();
  }

  event(name: string, data: unknown, id?: string): boolean {
    return !this.closed && this.write(frameOf(name, data, id));
  }

  comment(text: string): boolean {
    return this.write(`: ${oneLine(text)}\n\n`);
  }

  write(frames: string): boolean {
    if (this.closed) return false;
    if (this.#leavesOut && this.writableLength > this.#maxWaiting) {
      this.#omitted += 1;
      this.#newest = frames;
      return true;
    }
    if (this.#omitted > 0) this.#tellOmitted(this.#omitted);
    this.#pending += frames;
    this.#schedule();
    return true;
  }

  end(): void {
    if (this.closed) return;
    this.#head();
    if (this.#omitted > 0) {
      const newest = this.#newest;
      this.#tellOmitted(this.#omitted - 1);
      this.#pending += newest;
    }
    this.#raw.end(this.#pending);
    this.#pending = "";
    this.#close();
    // The client may have stopped reading for good: then the end never reaches it. Wait as long as it still reads.
    if (this.#raw.writableLength > this.#maxWaiting) this.#raw.setTimeout(PATIENCE_MS, () => this.#raw.destroy());
  }

  #tellOmitted(events: number): void {
    if (events > 0) this.#pending += frameOf("omitted", { events });
    this.#omitted = 0;
    this.#newest = "";
  }

  get writableLength(): number {
    return this.#pending.length + this.#raw.writableLength;
  }

  /** Cut the connection without another word. */
  drop(): void {
    this.#close();
    this.#raw.destroy();
  }

  /** Give the response back, unopened, so that it can carry another answer. */
  abandon(): void {
    this.#close();
  }

  onClose(listener: () => void): void {
    if (this.closed) listener();
    else this.#listeners.push(listener);
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.opened = true;
    setImmediate(this.#flush);
  }

  #head(): void {
    this.opened = true;
    if (!this.#raw.headersSent) this.#raw.writeHead(200, this.#headers);
  }

  readonly #flush = (): void => {
    this.#scheduled = false;
    if (this.closed) return;
    this.#head();
    if (this.#pending === "") this.#raw.flushHeaders();
    else this.#raw.write(this.#pending);
    this.#pending = "";
    if (!this.#leavesOut && this.#raw.writableLength > this.#maxWaiting) this.drop();
  };

  #close(): void {
    if (this.closed) return;
    this.closed = true;
    for (const listener of this.#listeners.splice(0)) listener();
  }
}

const oneLine = (text: string): string => (/[\r\n]/.test(text) ? text.replace(/[\r\n]+/g, " ") : text);
