import type { Duplex } from "node:stream";
import type { PluginContext, SocketTarget } from "@svc/sdk";
import { fail } from "../base/errors.ts";
import type { Args } from "./frames.ts";
import { small } from "./pieces.ts";

interface SocketArgs extends Args {
  readonly n: number;
  readonly to: SocketTarget;
  readonly data: Uint8Array;
}

/** The connections of one process of an isolated plugin, by the numbers that it gave them; guarded by its context as any plugin's. */
export function createSocketApi(ctx: PluginContext<never>): Readonly<Record<string, (args: SocketArgs, signal: AbortSignal) => unknown>> {
  const open = new Map<number, Duplex>();
  const find = (n: number): Duplex => {
    const socket = open.get(n);
    if (socket === undefined) throw fail("SVC_SOCKET_CLOSED");
    return socket;
  };
  return {
    async *"sockets.connect"({ n, to }, signal) {
      const socket = await ctx.sockets.connect({ ...to, signal });
      open.set(n, socket);
      try {
        yield {};
        for await (const piece of socket) yield* small(piece as Buffer);
      } finally {
        open.delete(n);
        socket.destroy();
      }
    },
    "sockets.write": ({ n, data }) => new Promise<void>((done, refuse) => find(n).write(data, (error) => (error ? refuse(error) : done()))),
    "sockets.end": ({ n }) => new Promise<void>((done) => find(n).end(done)),
  };
}
