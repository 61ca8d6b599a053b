import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll } from "vitest";

/** A line between a browser and a dashboard: counts what is asked over it, and can lose frames of the live stream. */
export interface Line {
  readonly url: string;
  /** Event sources that are open now, and all that were ever opened. */
  readonly streams: { readonly open: number; readonly ever: number };
  /** How often a path was asked with GET. */
  asked(path: string): number;
  /** Loses the next frame that contains the text; the promise says that it is gone. */
  loseNext(containing: string): Promise<void>;
  /** Every connection ends, and new ones are closed at once, until it is mended. */
  cut(): void;
  mend(): void;
  close(): Promise<void>;
}

const lines: Line[] = [];
// A hook that is asked for within another one is not heard: this one is the file's.
afterAll(async () => {
  for (const line of lines.splice(0)) await line.close();
});

/** Opens a line to a dashboard; it ends with the tests of the file. */
export async function openLine(dashboard: string): Promise<Line> {
  const target = new URL(dashboard);
  const asks = new Map<string, number>();
  const losses: { readonly text: string; gone(): void }[] = [];
  const streams = { open: 0, ever: 0 };
  let whole = true;

  const pass = (from: IncomingMessage, to: ServerResponse) => {
    streams.open += 1;
    streams.ever += 1;
    let waiting = "";
    from.setEncoding("utf8");
    from.on("data", (text: string) => {
      waiting += text;
      for (let end = waiting.indexOf("\n\n"); end >= 0; end = waiting.indexOf("\n\n")) {
        const frame = waiting.slice(0, end + 2);
        waiting = waiting.slice(end + 2);
        const at = losses.findIndex((loss) => frame.includes(loss.text));
        if (at === -1) to.write(frame);
        else losses.splice(at, 1)[0]?.gone();
      }
    });
    from.on("close", () => {
      streams.open -= 1;
      to.end();
    });
  };
  const server = createServer((req, res) => {
    const path = (req.url ?? "/").split("?")[0] as string;
    if (req.method === "GET") asks.set(path, (asks.get(path) ?? 0) + 1);
    // The dashboard answers only for its own address.
    const headers = { ...req.headers, host: target.host, ...(req.headers.origin === undefined ? {} : { origin: target.origin }) };
    const far = request({ host: target.hostname, port: target.port, method: req.method, path: req.url, headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      if (String(answer.headers["content-type"]).startsWith("text/event-stream")) {
        res.flushHeaders();
        pass(answer, res);
      } else answer.pipe(res);
    });
    far.on("error", () => res.destroy());
    res.on("close", () => far.destroy());
    req.pipe(far);
  });
  server.on("connection", (socket) => whole || socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const line: Line = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    streams,
    asked: (path) => asks.get(path) ?? 0,
    loseNext: (text) =>
      new Promise((gone) => {
        losses.push({ text, gone });
      }),
    cut() {
      whole = false;
      server.closeAllConnections();
    },
    mend() {
      whole = true;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  lines.push(line);
  return line;
}
