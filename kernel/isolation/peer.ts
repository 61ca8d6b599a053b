import { AsyncResource } from "node:async_hooks";
import { onAbort } from "@svc/sdk";
import { type Args, type Frame, type Origin, readError, readFrame, WINDOW, writeError, writeFrame } from "./frames.ts";

/** Context of a served call besides its arguments. */
export interface Served {
  /** Aborts when the caller does not want it any more. */
  readonly signal: AbortSignal;
  /** Number of the call: calls made while it is served belong to it. */
  readonly id: number;
  readonly of: Origin | undefined;
}

/** Dependencies of one end of the wire. */
export interface RpcPeerOptions {
  /** Hands a line, without its end, to the other side. */
  write(line: string): void;
  /** Answers a call, with a stream where `streams`. Whatever it throws becomes the answer. */
  serve(on: string, args: Args, served: Served): unknown;
  onNotify(on: string, args: Args, of: Origin | undefined): void;
  /** Returns the origin of this side's current work. */
  origin?(): Origin | undefined;
  /** Label in the stack of errors from the other side. */
  readonly where: string;
  /** Maximum number of our own calls in progress, and of calls served for the other side; one more fails. */
  readonly pending: number;
  readonly serving: number;
  readonly frameBytes: number;
  /** Time for which a call may continue after its signal aborted, in milliseconds. */
  readonly abandonMs: number;
  busy(limit: number): Error;
  tooLarge(bytes: number): Error;
}

/** One end of the wire: calls, streams and notifications in both directions. */
export interface RpcPeer {
  /** Rejects with the other side's error, with `busy`, `tooLarge`, or with the reason of `end`; never later than `abandonMs` after `signal`. */
  call(on: string, args: Args, signal?: AbortSignal): Promise<unknown>;
  stream(on: string, args: Args, signal?: AbortSignal): AsyncIterable<unknown>;
  /** Sends a notification, which has no answer. False when it is too large. */
  notify(on: string, args: Args): boolean;
  /**
   * Processes a line from the other side, and returns whether it was expected: an answer or an item that one of our calls waits for. Throws for a
   * line that violates the protocol: then the other side cannot be trusted any more.
   */
  take(line: string): boolean;
  /** Runs work in the async context of one of our open calls. Returns false if there is no such call. */
  inCall(id: number, work: () => void): boolean;
  /** Fails every open call, and each later one, with this error; served calls are aborted. */
  end(reason: Error): void;
  readonly pending: number;
  readonly serving: number;
}

interface OpenCall {
  readonly done: (value: unknown) => void;
  readonly fail: (error: unknown) => void;
  readonly item?: (value: unknown) => void;
  /** The async context of the caller. */
  readonly resource: AsyncResource;
  readonly release: () => void;
}

interface Serving {
  readonly abort: AbortController;
  more: () => void;
  quit: boolean;
  credit: number;
}

/** A character takes at most this many bytes. */
const WIDEST = 3;

type SendFrame = (frame: Frame) => void;

/** One end of the wire; both ends are the same. */
export function createPeer(options: RpcPeerOptions): RpcPeer {
  let over: Error | undefined;

  function send(frame: Frame): void {
    const line = writeFrame(frame);
    const bytes = line.length * WIDEST > options.frameBytes ? Buffer.byteLength(line) : line.length;
    if (bytes > options.frameBytes) throw options.tooLarge(bytes);
    options.write(line);
  }

  const asked = createAskedCalls(options, send);
  const served = createServedCalls(options, send);

  return {
    call: (on, args, signal) => new Promise((done, fail) => void asked.begin("call", on, args, signal, { done, fail })),
    stream: (on, args, signal) => streamOf(options, send, asked, on, args, signal),
    notify(on, args) {
      if (over !== undefined) return false;
      try {
        send({ is: "notify", on, args, ...originField(options) });
        return true;
      } catch {
        return false;
      }
    },
    take(line) {
      const frame = readFrame(line);
      if (over !== undefined) return false;
      const awaited = frame.is !== "notify" && asked.open.has(frame.id);
      switch (frame.is) {
        case "call":
        case "stream":
          served.answer(frame.id, frame.on, frame.args, frame.of, frame.is === "stream");
          return false;
        case "notify":
          options.onNotify(frame.on, frame.args, frame.of);
          return false;
        case "done":
          asked.settle(frame.id)?.done(frame.value);
          return awaited;
        case "fail":
          asked.settle(frame.id)?.fail(readError(frame.error, options.where));
          return awaited;
        case "item":
          asked.open.get(frame.id)?.item?.(frame.value);
          return awaited;
        default:
          served.steer(frame.is, frame.id);
          return false;
      }
    },
    inCall(id, work) {
      const call = asked.open.get(id);
      call?.resource.runInAsyncScope(work);
      return call !== undefined;
    },
    end(reason) {
      if (over !== undefined) return;
      over = reason;
      asked.end(reason);
      served.end(reason);
    },
    get pending() {
      return asked.open.size;
    },
    get serving() {
      return served.serving.size;
    },
  };
}

/** Returns the part of a frame with the origin of this side's current work. */
const originField = (options: RpcPeerOptions) => {
  const of = options.origin?.();
  return of === undefined ? {} : { of };
};

type AskedCalls = ReturnType<typeof createAskedCalls>;

/** Our calls and streams in progress. */
function createAskedCalls(options: RpcPeerOptions, send: SendFrame) {
  const open = new Map<number, OpenCall>();
  let last = 0;
  let over: Error | undefined;

  /** Starts a call; returns its number, or undefined if it has failed already. */
  function begin(
    is: "call" | "stream",
    on: string,
    args: Args,
    signal: AbortSignal | undefined,
    answer: Pick<OpenCall, "done" | "fail" | "item">,
  ): number | undefined {
    const refusal = over ?? (open.size >= options.pending ? options.busy(options.pending) : signal?.aborted ? signal.reason : undefined);
    if (refusal !== undefined) {
      answer.fail(refusal);
      return undefined;
    }
    last += 1;
    const id = last;
    let patience: NodeJS.Timeout | undefined;
    const stop = () => {
      send({ is: "stop", id });
      patience = setTimeout(() => settle(id)?.fail(signal?.reason), options.abandonMs);
      patience.unref();
    };
    let unlisten = () => {};
    const release = () => {
      unlisten();
      clearTimeout(patience);
    };
    open.set(id, { ...answer, resource: new AsyncResource("svc.isolation"), release });
    try {
      send({ is, id, on, args, ...originField(options) });
      unlisten = onAbort(signal, stop);
    } catch (error) {
      settle(id)?.fail(error);
      return undefined;
    }
    return id;
  }

  function settle(id: number): OpenCall | undefined {
    const call = open.get(id);
    if (call === undefined) return undefined;
    open.delete(id);
    call.release();
    return call;
  }

  return {
    open: open as ReadonlyMap<number, OpenCall>,
    begin,
    settle,
    end(reason: Error): void {
      over = reason;
      for (const id of [...open.keys()]) settle(id)?.fail(reason);
    },
  };
}

/** Yields the items of a stream, with backpressure: more are requested as they are consumed. */
async function* streamOf(
  options: RpcPeerOptions,
  send: SendFrame,
  asked: AskedCalls,
  on: string,
  args: Args,
  signal: AbortSignal | undefined,
): AsyncGenerator<unknown> {
  const items: unknown[] = [];
  let wake = () => {};
  let ended: { error?: unknown } | undefined;
  let taken = 0;
  const finish = (how: { error?: unknown }) => {
    ended = how;
    wake();
  };
  const id = asked.begin("stream", on, args, signal, {
    done: () => finish({}),
    fail: (error) => finish({ error }),
    item(value) {
      if (items.length >= 2 * WINDOW) throw new Error("more items than were asked for");
      items.push(value);
      wake();
    },
  });
  const news = () => new Promise<void>((resolve) => (wake = resolve));
  try {
    for (;;) {
      while (items.length > 0) {
        yield items.shift();
        taken += 1;
        if (taken % (WINDOW / 2) === 0 && id !== undefined && ended === undefined) send({ is: "more", id });
      }
      if (ended !== undefined) break;
      await news();
    }
    if ("error" in ended) throw ended.error;
  } finally {
    if (ended === undefined && id !== undefined) {
      send({ is: "quit", id });
      const patience = setTimeout(() => asked.settle(id)?.done(undefined), options.abandonMs);
      patience.unref();
      items.length = 0;
      // Clean-up code after its end still belongs to the call.
      while (ended === undefined) await news();
      clearTimeout(patience);
    }
  }
}

/** Calls and streams of the other side that are being served. */
function createServedCalls(options: RpcPeerOptions, send: SendFrame) {
  const serving = new Map<number, Serving>();

  function answer(id: number, on: string, args: Args, of: Origin | undefined, streams: boolean): void {
    if (serving.has(id)) throw new Error("a call of a number that is under way already");
    const one: Serving = { abort: new AbortController(), more: () => {}, quit: false, credit: WINDOW };
    serving.set(id, one);
    const work = async () => {
      if (serving.size > options.serving) throw options.busy(options.serving);
      const value = await options.serve(on, args, { signal: one.abort.signal, id, of });
      if (streams) await pour(id, one, value as AsyncIterable<unknown>);
      else return value;
    };
    work().then(
      (value) => reply(id, value),
      (error) => refuse(id, error),
    );
  }

  /** Applies the caller's control message to a served call. */
  function steer(how: "stop" | "quit" | "more", id: number): void {
    const one = serving.get(id);
    if (one === undefined) return;
    if (how === "more") one.credit += WINDOW / 2;
    else {
      one.quit ||= how === "quit";
      one.abort.abort(new Error("the caller does not want it any more"));
    }
    one.more();
  }

  function reply(id: number, value: unknown): void {
    if (!serving.has(id)) return;
    try {
      send({ is: "done", id, ...(value === undefined ? {} : { value }) });
      serving.delete(id);
    } catch (error) {
      refuse(id, error);
    }
  }

  function refuse(id: number, error: unknown): void {
    if (serving.delete(id)) send({ is: "fail", id, error: writeError(error) });
  }

  async function pour(id: number, one: Serving, items: AsyncIterable<unknown>): Promise<void> {
    for await (const value of items) {
      while (one.credit === 0 && !one.quit) await new Promise<void>((resolve) => (one.more = resolve));
      if (one.quit || !serving.has(id)) return;
      one.credit -= 1;
      send({ is: "item", id, value });
    }
  }

  return {
    serving: serving as ReadonlyMap<number, Serving>,
    answer,
    steer,
    end(reason: Error): void {
      const served = [...serving.values()];
      serving.clear();
      for (const one of served) {
        one.quit = true;
        one.abort.abort(reason);
        one.more();
      }
    },
  };
}
