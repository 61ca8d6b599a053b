import { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { Sockets, SocketTarget } from "@svc/sdk";
import type { RpcPeer } from "./peer.ts";

/** Fits into a frame as base64. */
const WRITE_BYTES = 1_048_576;
/** Minimum time between two writes: smaller ones are batched, so that they do not flood the daemon with frames. */
const PACE_MS = 1;

/** `ctx.sockets` over the wire: the daemon connects. A WebSocket is spoken here, over such a connection. */
export function remoteSockets(peer: Pick<RpcPeer, "call" | "stream">): Sockets {
  let last = 0;
  const connect = async ({ signal, ...to }: SocketTarget): Promise<Duplex> => {
    const n = (last += 1);
    const end = new AbortController();
    const ends = signal === undefined ? end.signal : AbortSignal.any([signal, end.signal]);
    const items = peer.stream("sockets.connect", { n, to }, ends)[Symbol.asyncIterator]();
    // The first item says that it is connected.
    await items.next();
    return duplexOf(items as AsyncIterator<Uint8Array>, end, (on, args) => peer.call(on, { n, ...args }));
  };
  return {
    connect,
    async webSocket(url, init) {
      const { openWebSocket } = await import("../capabilities/fetch/web-socket.ts");
      return openWebSocket(connect, url, init);
    },
  };
}

function duplexOf(items: AsyncIterator<Uint8Array>, end: AbortController, ask: (on: string, args: object) => Promise<unknown>): Duplex {
  async function write(whole: Buffer): Promise<void> {
    for (let at = 0; at < whole.length; at += WRITE_BYTES) {
      await ask("sockets.write", { data: whole.subarray(at, at + WRITE_BYTES) });
      await sleep(PACE_MS);
    }
  }
  const settle = (done: (error?: Error | null) => void) => [() => done(), (error: Error) => done(error)] as const;
  return new Duplex({
    allowHalfOpen: false,
    read() {
      items.next().then(
        ({ value, done }) => this.push(done ? null : value),
        (error) => this.destroy(end.signal.aborted ? undefined : error),
      );
    },
    writev: (chunks, done) => void write(Buffer.concat(chunks.map(({ chunk }) => chunk as Buffer))).then(...settle(done)),
    final: (done) => void ask("sockets.end", {}).then(...settle(done)),
    destroy(error, done) {
      end.abort();
      done(error);
    },
  });
}
