import type { Identity } from "@svc/sdk";
import { fail } from "../errors.ts";
import type { ServerSentStream } from "./event-stream.ts";

export interface StreamLimits {
  /** Streams of one bearer. */
  readonly perBearer: number;
  /** Streams of the whole server. */
  readonly total: number;
  /** Bytes that may wait for one slow client. */
  readonly maxWaiting: number;
}

/** The bearer a stream was opened with, and whether what it proves now would still let it in. */
export interface StreamProof {
  readonly bearer: string;
  holds(identity: Identity): boolean;
}

/** The streams that are open now: counted, judged again every second, and ended with the server. */
export interface OpenStreams {
  /** Throws 503 when there are too many. Call it before the stream is made. */
  reserve(proof: StreamProof | undefined): void;
  add(stream: ServerSentStream, proof: StreamProof | undefined): void;
  /** The handler has returned: the stream now lives by itself, and ends as soon as the server wants to close. */
  lasting(stream: ServerSentStream): void;
  /** Ask for every stream that came with a bearer whether it still holds; end those where it does not. */
  recheck(): Promise<void>;
  /** From now on no stream outlives its handler. */
  drain(): void;
  endAll(): void;
  readonly size: number;
}

const RECHECK_MS = 1_000;

export function createOpenStreams(limits: StreamLimits, identify: (bearer: string) => Promise<Identity | undefined>): OpenStreams {
  const open = new Map<ServerSentStream, StreamProof | undefined>();
  const counts = new Map<string, number>();
  const resting = new Set<ServerSentStream>();
  let timer: NodeJS.Timeout | undefined;
  let draining = false;

  const count = (bearer: string, by: number) => {
    const left = (counts.get(bearer) ?? 0) + by;
    if (left > 0) counts.set(bearer, left);
    else counts.delete(bearer);
    if (counts.size > 0) timer ??= setInterval(() => void recheck(), RECHECK_MS).unref();
    else {
      clearInterval(timer);
      timer = undefined;
    }
  };

  async function recheck(): Promise<void> {
    const asked = new Map<string, Promise<Identity | undefined>>();
    await Promise.all(
      [...open].map(async ([stream, proof]) => {
        if (proof === undefined) return;
        const answer = asked.get(proof.bearer) ?? identify(proof.bearer);
        asked.set(proof.bearer, answer);
        const identity = await answer;
        if (identity === undefined || !proof.holds(identity)) stream.end();
      }),
    );
  }

  return {
    reserve(proof) {
      if (open.size >= limits.total) throw fail("SVC_HTTP_STREAMS", { limit: limits.total, whose: "this server" });
      if (proof !== undefined && (counts.get(proof.bearer) ?? 0) >= limits.perBearer) throw fail("SVC_HTTP_STREAMS", { limit: limits.perBearer, whose: "this token" });
    },
    add(stream, proof) {
      open.set(stream, proof);
      if (proof !== undefined) count(proof.bearer, 1);
      stream.onClose(() => {
        open.delete(stream);
        resting.delete(stream);
        if (proof !== undefined) count(proof.bearer, -1);
      });
    },
    lasting(stream) {
      if (stream.closed) return;
      if (draining) stream.end();
      else resting.add(stream);
    },
    recheck,
    drain() {
      draining = true;
      for (const stream of resting) stream.end();
    },
    endAll() {
      for (const stream of open.keys()) stream.end();
    },
    get size() {
      return open.size;
    },
  };
}
