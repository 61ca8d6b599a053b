import { createServer } from "node:net";
import { type Address, ask } from "./client.ts";

/** Program that answers at an address. */
export type Whose =
  | { readonly who: "nobody" }
  | { readonly who: "program" }
  | {
      readonly who: "daemon";
      /** Name and id of its node; absent if it reveals only that it is one. */
      readonly node?: { readonly id: string; readonly name: string };
      readonly instance?: string;
      readonly folder?: string;
      readonly pid?: number;
    };

const ANSWER_MS = 3_000;
const STATES: ReadonlySet<unknown> = new Set(["starting", "running", "draining", "stopped"]);
/** So many ports after the wanted one are tried. */
const TRIED = 200;

/** Identifies it without changing anything there. */
export async function whoseIs(address: Address): Promise<Whose> {
  try {
    const health = (await ask(address, "GET", "/health", undefined, { signal: AbortSignal.timeout(ANSWER_MS) })) as Record<string, unknown> | undefined;
    if (typeof health !== "object" || typeof health?.ok !== "boolean" || !STATES.has(health.state)) return { who: "program" };
    return { ...(health as object), who: "daemon" };
  } catch (error) {
    return { who: (error as { code?: string }).code === "SVC_CLI_NO_DAEMON" ? "nobody" : "program" };
  }
}

/** `Atlas (atlas) in /srv/atlas`, for people. */
export function describeDaemon({ node, folder }: Extract<Whose, { who: "daemon" }>): string {
  const name = node === undefined ? "another folder" : node.name === node.id ? node.id : `${node.name} (${node.id})`;
  return folder === undefined ? name : `${name} in ${folder}`;
}

/** Undefined when a server could listen there, else the system's reason such as `EADDRINUSE`. */
export function whyNotFree({ host, port }: Address): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

/** The first free port from `port` on. */
export async function freePort({ host, port }: Address): Promise<number> {
  for (let at = port; at < Math.min(port + TRIED, 65_536); at += 1) if ((await whyNotFree({ host, port: at })) === undefined) return at;
  return port;
}
