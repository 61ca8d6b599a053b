import type { Identity } from "@svc/sdk";
import { fail } from "../base/errors.ts";
import type { ServerSentStream } from "./event-stream.ts";

/** Limits of streams that only observe (`GET`), and of streams of requested work. */
export interface StreamLimits {
  /** Streams of one bearer. */
  readonly perBearer: number;
  /** Streams of the whole server. */
  readonly total: number;
  /** Bytes that may wait for one slow client. */
  readonly maxWaiting: number;
}

/** The bearer of a stream, and a check whether its current identity would still be admitted. */
export interface StreamProof {
  readonly bearer: string;
  holds(identity: Identity): boolean;
}

/** The open streams: counted, re-authorized every second, and ended with the server. */
export interface OpenStreams {
  /** Throws 503 when there are too many. Call it before the stream is made. */
  reserve(proof: StreamProof | undefined): void;
  /** `outlive`: the handler has returned and the stream continues by itself; it ends as soon as the server starts to close. */
  add(stream: ServerSentStream, proof: StreamProof | undefined): { outlive(): void };
  /** Verifies the bearer of every stream that has one again; ends the streams whose bearer is no longer valid. */
  recheck(): Promise<void>;
  /** From now on no stream outlives its handler. */
  drain(): void;
  endAll(): void;
}

interface Opened {
  readonly stream: ServerSentStream;
  readonly proof: StreamProof | undefined;
  /** Its place in the list. */
  at: number;
  lasting: boolean;
}

const RECHECK_MS = 1_000;

/** Makes the register of open event streams, which counts them and ends those whose bearer was revoked. */
export function createOpenStreams(limits: StreamLimits, identify: (bearer: string) => Promise<Identity | undefined>): OpenStreams {
  // An array, not a Map: frequent inserts and deletes in a Map keep V8 from freeing young entries.
  const open: Opened[] = [];
  const counts = new Map<string, number>();
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
      open.map(async ({ stream, proof }) => {
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
      if (open.length >= limits.total) throw fail("SVC_HTTP_STREAMS", { limit: limits.total, whose: "this server" });
      if (proof !== undefined && (counts.get(proof.bearer) ?? 0) >= limits.perBearer)
        throw fail("SVC_HTTP_STREAMS", { limit: limits.perBearer, whose: "this token" });
    },
    add(stream, proof) {
      const opened = { stream, proof, at: open.length, lasting: false };
      open.push(opened);
      if (proof !== undefined) count(proof.bearer, 1);
      stream.onClose(() => {
        const last = open.pop() as Opened;
        if (last !== opened) {
          open[opened.at] = last;
          last.at = opened.at;
        }
        if (proof !== undefined) count(proof.bearer, -1);
      });
      return {
        outlive() {
          opened.lasting = true;
          if (draining) stream.end();
        },
      };
    },
    recheck,
    drain() {
      draining = true;
      for (const { stream, lasting } of [...open]) if (lasting) stream.end();
    },
    endAll() {
      for (const { stream } of [...open]) stream.end();
    },
  };
}
