import { Duplex } from "node:stream";
import type { Sockets, SocketTarget, WebSocketConnection } from "../sockets.ts";
import { onAbort } from "../time.ts";

/** Whatever is said to it, it says `text`, as bytes or as a message. */
export function answeringSockets(text: string): Sockets {
  return {
    async connect({ signal }) {
      const socket = new Duplex({
        read() {},
        write(_chunk, _encoding, done) {
          this.push(text);
          done();
        },
        final(done) {
          this.push(null);
          done();
        },
      });
      onAbort(signal, () => void socket.destroy());
      return socket;
    },
    async webSocket(_url, { signal } = {}) {
      const waiting: string[] = [];
      let wake = () => {};
      let over: { code: number; reason: string } | undefined;
      let ended: (how: { code: number; reason: string }) => void = () => {};
      const closed: WebSocketConnection["closed"] = new Promise((resolve) => (ended = resolve));
      const end = (code: number, reason = ""): void => {
        over ??= { code, reason };
        ended(over);
        wake();
      };
      onAbort(signal, () => end(1006));
      async function* messages(): AsyncGenerator<string> {
        while (over === undefined || waiting.length > 0) {
          const next = waiting.shift();
          if (next !== undefined) yield next;
          else await new Promise<void>((resolve) => (wake = resolve));
        }
      }
      return {
        protocol: "",
        messages: messages(),
        closed,
        async send() {
          waiting.push(text);
          wake();
        },
        close: async (code = 1000, reason) => end(code, reason),
      };
    },
  };
}

/** As in the daemon, they end with the plugin. */
export function endingSockets(sockets: Sockets, end: AbortSignal): Sockets {
  const until = ({ signal }: Pick<SocketTarget, "signal">) => ({ signal: signal === undefined ? end : AbortSignal.any([end, signal]) });
  return {
    connect: (to) => sockets.connect({ ...to, ...until(to) }),
    webSocket: (url, init = {}) => sockets.webSocket(url, { ...init, ...until(init) }),
  };
}
