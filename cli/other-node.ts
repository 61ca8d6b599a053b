import type { IncomingMessage } from "node:http";
import { hostname } from "node:os";
import { INSTANCE, INSTANCE_EXPECTED, readInstance } from "@svc/kernel/instance";
import type { StoreNode } from "@svc/sdk";
import { addressOf, type Cli } from "./cli.ts";
import { type Address, ask, type Method, stream, type Terms } from "./client.ts";
import { fail } from "./errors.ts";
import { follow } from "./follow.ts";
import type { OwnDaemon } from "./own-daemon.ts";

/** Caller and command. */
export interface NodeTerms {
  /** The command as typed, such as `agent list`. */
  readonly command: string;
  /** `refused`: the command works on this folder. `watched`: a plugin's command, refused as soon as it accesses the folder. */
  readonly kind: "anywhere" | "watched" | "refused";
  /** The bearer in `SVC_TOKEN`. */
  readonly token: string | undefined;
}

/** Members of the own folder: a command for another node must not use them. */
const LOCAL: ReadonlySet<string | symbol> = new Set([
  ...["file", "folder", "dataFolder", "logFile", "data", "scopes", "note", "address", "configured"],
  ...["readSettings", "section", "change", "fileSettings", "serve"],
]);

/**
 * Returns the same command line for the daemon with that `node.id` on the store of this folder; unchanged for the own `node.id`. Throws
 * `SVC_CLI_NODE_LOCAL` for a command that works on the folder, `SVC_CLI_MISSING` for a daemon that is not alive, `SVC_CLI_NODE_ADDRESS` and
 * `SVC_CLI_NODE_PLAIN` for one that cannot be reached from here.
 */
export async function atNode(cli: Cli, id: string, { command, kind, token }: NodeTerms): Promise<Cli> {
  const own = (await cli.section("node").catch(() => undefined)) as { readonly id?: string } | undefined;
  if (own?.id === id) return cli;
  const local = () => fail("SVC_CLI_NODE_LOCAL", { command, node: id });
  if (kind === "refused") throw local();
  const node = await find(cli, id);
  const address = addressOfNode(node);
  const daemon = daemonOf(node, address, token?.trim() || undefined, readInstance(cli.dataFolder));
  const there: Partial<Cli> = { ...daemon, address: () => address, note: () => undefined, stream: (path, onEvent, how) => follow(daemon, path, onEvent, how) };
  return new Proxy(cli, {
    get(target, key) {
      if (kind === "watched" && LOCAL.has(key)) throw local();
      return Reflect.get(Object.hasOwn(there, key) ? there : target, key);
    },
  });
}

async function find(cli: Cli, id: string): Promise<StoreNode> {
  const { storeFor } = await import("./store.js");
  const store = await storeFor(cli);
  if (store.nodes === undefined)
    throw fail("SVC_CLI_USAGE", { reason: `one daemon alone uses the store ${store.name}, the one of this folder: leave --node out` });
  const nodes = await store.nodes({ folder: cli.dataFolder });
  const node = nodes.find(({ name, state }) => name === id && (state === "alive" || state === "draining"));
  if (node === undefined) throw fail("SVC_CLI_MISSING", { what: `living daemon with node.id '${id}' on this store`, next: "svc node list" });
  return node;
}

/** Returns the address of a node: the `node.url` of its operator, or its listening address if it is on this machine. */
function addressOfNode({ name: node, host, about }: StoreNode): Address {
  const here = host === hostname();
  if (about?.url === undefined) {
    const bound = here && about?.bind !== undefined ? addressOf(about.bind) : undefined;
    if (bound === undefined || !isLoopback(bound.host)) throw fail("SVC_CLI_NODE_ADDRESS", { node, host, reason: "it has told no node.url" });
    return bound;
  }
  const url = URL.canParse(about.url) ? new URL(about.url) : undefined;
  if (url === undefined || url.search !== "" || url.hash !== "" || !/^https?:$/.test(url.protocol))
    throw fail("SVC_CLI_NODE_ADDRESS", { node, host, reason: "its node.url is no address of http or https without a query" });
  if (url.username !== "" || url.password !== "") throw fail("SVC_CLI_NODE_ADDRESS", { node, host, reason: "its node.url has a user or a password in it" });
  const name = url.hostname.replace(/^\[|\]$/g, "");
  const tls = url.protocol === "https:";
  // The loopback address of another machine is not ours.
  if (!tls && !(here && isLoopback(name))) throw fail("SVC_CLI_NODE_PLAIN", { node, host, url: url.origin });
  return { host: name, port: Number(url.port) || (tls ? 443 : 80), tls, base: url.pathname.replace(/\/+$/, "") };
}

const isLoopback = (host: string): boolean => /^(?:127(?:\.\d{1,3}){3}|::1|localhost)$/.test(host);

/** Sends requests to that daemon, each time after it has proved its identity without receiving the token. */
function daemonOf({ name: node, about }: StoreNode, address: Address, token: string | undefined, own: string | undefined): OwnDaemon {
  const at = `${address.tls ? "https" : "http"}://${address.host.includes(":") ? `[${address.host}]` : address.host}:${address.port}${address.base ?? ""}`;
  const other = (reason: string) => fail("SVC_CLI_NODE_OTHER", { node, at, reason });
  const explain = (error: unknown) => {
    const { code = "", status, message } = error as { code?: string; status?: number; message: string };
    if (status === 401 || status === 403) {
      const next = token === undefined ? "SVC_TOKEN is not set" : "the token in SVC_TOKEN does not open this";
      return fail("SVC_CLI_NODE_TOKEN", { node, reason: message, next, status });
    }
    return code === "SVC_CLI_NO_DAEMON" || !code.startsWith("SVC_")
      ? fail("SVC_CLI_NODE_AWAY", { node, at, reason: code === "SVC_CLI_NO_DAEMON" ? "no program listens there" : message })
      : error;
  };
  const { instance } = about ?? {};
  const meant: Readonly<Record<string, string>> = instance === undefined ? {} : { [INSTANCE_EXPECTED]: instance };
  const judge = async ({ statusCode = 500, headers }: IncomingMessage) => {
    if (statusCode >= 300 && statusCode < 400) throw other("a redirect, which is not followed");
    if (own !== undefined && headers[INSTANCE] === own) throw other("the daemon of this folder");
    if (instance !== undefined && headers[INSTANCE] !== instance) throw other(headers[INSTANCE] === undefined ? "another program" : "another daemon of svc");
  };
  async function agree(headers: Readonly<Record<string, string>>, signal: AbortSignal | undefined): Promise<Terms> {
    const bound = signal === undefined ? {} : { signal };
    const health = await ask(address, "GET", "/health", undefined, { ...bound, judge, headers: meant });
    const { state, node: told } = (health ?? {}) as { state?: unknown; node?: { id?: unknown } };
    if (typeof state !== "string") throw other("a program that is no daemon of svc");
    if (told !== undefined && told.id !== node) throw other(`the daemon ${String(told.id)}`);
    return { ...bound, judge, headers: { ...headers, ...meant, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) } };
  }
  return {
    async request(method: Method, path, body, headers = {}, signal) {
      try {
        return await ask(address, method, path, body, await agree(headers, signal));
      } catch (error) {
        throw signal?.aborted ? error : explain(error);
      }
    },
    async *frames(method, path, body, { headers = {}, signal } = {}) {
      const terms = await agree(headers, signal).catch((error) => {
        throw signal?.aborted ? error : explain(error);
      });
      try {
        yield* stream(address, method, path, body, terms);
      } catch (error) {
        // The caller handles a connection that breaks.
        throw [401, 403].includes((error as { status?: number }).status ?? 0) ? explain(error) : error;
      }
    },
  };
}
