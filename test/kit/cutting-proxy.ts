import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A TCP proxy before a server that may move, which breaks connections after a random number of bytes. */
export interface CuttingProxy {
  readonly url: string;
  /** Connections that it broke. */
  readonly cuts: number;
  /** From now on each connection is broken after at most so many bytes; 0: none is. */
  cutWithin(bytes: number): void;
  close(): Promise<void>;
}

/** Starts one; `port` is asked at each connection. */
export async function startCuttingProxy(port: () => number): Promise<CuttingProxy> {
  const open = new Set<Socket>();
  const limits = new Set<() => void>();
  let [most, cuts] = [0, 0];
  const budget = () => (most === 0 ? Number.POSITIVE_INFINITY : 1 + Math.floor(Math.random() * most));
  const server = createServer((near) => {
    const far = connect(port(), "127.0.0.1");
    let left = budget();
    const limit = () => void (left = budget());
    limits.add(limit);
    near.on("close", () => limits.delete(limit));
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(from);
      from.on("data", (data: Buffer) => {
        if (left <= 0) return;
        left -= data.length;
        if (left > 0) return void to.write(data);
        // Some bytes more than the limit come through, and then nothing: a frame is cut in its middle.
        to.write(data.subarray(0, Math.max(0, data.length + left)));
        cuts += 1;
        setImmediate(() => {
          near.destroy();
          far.destroy();
        });
      });
      from.on("error", () => undefined);
      from.on("close", () => {
        open.delete(from);
        to.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get cuts() {
      return cuts;
    },
    cutWithin(bytes) {
      most = bytes;
      for (const limit of limits) limit();
    },
    async close() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
