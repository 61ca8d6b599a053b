import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A TCP proxy before a server, for the faults of a network: late bytes, broken connections, a line on which nothing arrives. */
export interface TcpProxy {
  readonly port: number;
  /** Each piece of data comes so many milliseconds later, in its order. */
  delay(ms: number): void;
  /** Breaks all connections. */
  cut(): void;
  /** While it is on, nothing passes in either direction, and nobody is told: connections stay open, new ones are accepted. What was sent meanwhile comes after it. */
  partition(on: boolean): void;
  close(): Promise<void>;
}

/** Starts one; `port` is asked at each connection. */
export async function startTcpProxy(port: () => number): Promise<TcpProxy> {
  const open = new Set<Socket>();
  let late = 0;
  let parted = false;
  let held: (() => void)[] = [];
  const pass = (deliver: () => void) => void (parted ? held.push(deliver) : deliver());

  const server = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect({ port: port(), host: "127.0.0.1", allowHalfOpen: true });
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(from);
      let before = Promise.resolve();
      const later = (deliver: () => void) => {
        const ms = late;
        before = before.then(() => (ms === 0 ? undefined : new Promise((resolve) => setTimeout(resolve, ms)))).then(() => pass(deliver));
      };
      from.on("data", (data: Buffer) => later(() => void (to.destroyed || to.write(data))));
      from.on("end", () => later(() => to.end()));
      from.on("error", () => undefined);
      from.on("close", (failed) => {
        open.delete(from);
        if (failed) pass(() => to.destroy());
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    delay(ms) {
      late = ms;
    },
    cut() {
      for (const socket of open) socket.destroy();
    },
    partition(on) {
      parted = on;
      if (on) return;
      const all = held;
      held = [];
      for (const deliver of all) deliver();
    },
    async close() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
