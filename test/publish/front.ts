import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A registry in front of two others, on loopback. */
export interface Front {
  readonly address: string;
  close(): void;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Headers that npm's cache goes by; without `vary`, it would take the short form of a package's document for the long one. */
const PASSED = ["content-type", "etag", "last-modified", "cache-control", "vary"];

/**
 * Answers what npm reads from memory, after the first time: each answer of verdaccio takes it some 10 ms of the processor, and an installation
 * asks for two hundred. What `isOurs` comes from verdaccio at `port`, anew after each change there; the rest from `uplink`, and is kept.
 */
export async function startFront(port: number, uplink: string, isOurs: (path: string) => boolean): Promise<Front> {
  const kept = new Map<string, Promise<Answer>>();
  const base = uplink.replace(/\/*$/, "/");
  const ask = async (path: string, accept: string): Promise<Answer> => {
    const asked = await fetch(isOurs(path) ? `http://127.0.0.1:${port}${path}` : new URL(path.slice(1), base), { headers: { accept } });
    const headers = Object.fromEntries([...asked.headers].filter(([name]) => PASSED.includes(name)));
    const bytes = Buffer.from(await asked.arrayBuffer());
    const isText = headers["content-type"]?.includes("json") === true;
    return { status: asked.status, headers, body: isText ? Buffer.from(bytes.toString("utf8").replaceAll(base, address)) : bytes };
  };
  const read = (path: string, { accept = "*/*" }: IncomingMessage["headers"]): Promise<Answer> => {
    const key = `${accept} ${path}`;
    const answer = kept.get(key) ?? ask(path, accept);
    kept.set(key, answer);
    const forget = () => kept.delete(key);
    answer.then(({ status }) => status >= 400 && forget(), forget);
    return answer;
  };
  const forgetOurs = (): void => {
    for (const key of kept.keys()) if (isOurs(key.slice(key.lastIndexOf(" ") + 1))) kept.delete(key);
  };
  const server = createServer(async (asked, response) => {
    const { method, url: path = "/", headers } = asked;
    if (method !== "GET") return pass(asked, response, port, forgetOurs);
    try {
      const { status, headers: said, body } = await read(path, headers);
      const isKnown = said.etag !== undefined && said.etag === headers["if-none-match"];
      response.writeHead(isKnown ? 304 : status, said).end(isKnown ? undefined : body);
    } catch (error) {
      response.writeHead(502).end(String(error));
    }
  });
  const address = await listen(server);
  return {
    address,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

function pass(asked: IncomingMessage, response: ServerResponse, port: number, done: () => void): void {
  const { method, url, headers } = asked;
  const passed = request({ host: "127.0.0.1", port, method, path: url, headers }, (answer) => {
    done();
    response.writeHead(answer.statusCode as number, answer.headers);
    answer.pipe(response);
  });
  passed.on("error", (error) => response.destroy(error));
  asked.pipe(passed);
}
