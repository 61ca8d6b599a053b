import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { type CliHost, codeOf, type HttpRoute } from "@svc/sdk";
import { type FarDashboard, farDashboards } from "../far-dashboard.ts";
import { forward, forwardRoutes, type Got, isRefused, reasonOf, type Send } from "../forward.ts";
import { ASSETS, HEADERS, pageRoutes } from "../page.ts";
import { type OtherDaemon, THIS_DAEMON } from "../settings.ts";
import { createSignInLinks } from "../sign-in-links.ts";
import { createTickets } from "../tickets.ts";
import type { MeView } from "../who-asks.ts";
import { offlineSettingsRoutes } from "./offline-settings.ts";

/** Options of the command. */
export interface AloneOptions {
  readonly daemon?: string;
  readonly port?: number;
}

/** The pages, served by this program. */
export interface Alone {
  /** With the code that signs one browser in. */
  readonly url: string;
  readonly daemons: readonly { readonly name: string; readonly url: string }[];
  /** Why the first daemon cannot be shown now. */
  readonly problem?: string;
  /** Resolves when a signal has ended it. */
  readonly closed: Promise<void>;
}

interface Section {
  readonly daemonUrl?: string;
  readonly daemons?: readonly OtherDaemon[];
  readonly bind?: string;
  readonly port?: number;
  readonly token?: string;
}

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;
const LOOK_MS = 3_000;
/** The daemon of the folder that the command runs in. */
const HERE = "this machine";

/**
 * Serves the pages without a daemon of its own: no store, no agents. Requests of a page are forwarded to the dashboards of the configured daemons,
 * with the tokens in svc.json; the printed link authenticates the person, so that no other user of this machine has access.
 */
export async function serveAlone(cli: CliHost, { daemon, port = 0 }: AloneOptions): Promise<Alone> {
  const section = await sectionOf(cli);
  const all = daemonsOf(section, daemon);
  const [main] = all as [FarDashboard, ...FarDashboard[]];
  const links = createSignInLinks();
  const tickets = createTickets();
  const send = sendPlain;
  const find = (name: string) => all.find((one) => one.name === name);
  // Of the daemon of this folder, svc.json can be changed while it is stopped.
  const offline = main.daemonUrl === THIS_DAEMON && main.name === HERE && (await isSetUp(cli)) ? join(cli.folder, "svc.json") : undefined;
  const me = meHere(main, all, send, offline);
  const routes: HttpRoute[] = [
    ...pageRoutes(async () => true),
    assetRoute(),
    ...links.routes,
    tickets.route,
    me,
    ...forwardRoutes(find, send),
    ...(offline === undefined ? [] : offlineSettingsRoutes(main, await cli.fileSettings(), send)),
    // All else is asked of the first one.
    ...METHODS.flatMap((method) => ["/api/*", "/workflows/:id/run"].map((path) => passRoute(method, path, main, send))),
  ].map(here);
  const server = await cli.serve({ port, routes, authorities: [links.authority, tickets.authority] });
  const problem = await problemOf(main, send);
  return {
    url: `http://${server.host}:${server.port}/live#sign-in=${links.code().code}`,
    daemons: all.map(({ name, daemonUrl }) => ({ name, url: daemonUrl })),
    ...(problem === undefined ? {} : { problem }),
    closed: untilSignal(() => server.close()),
  };
}

/** The section, tokens as they are; the defaults where there is no svc.json. */
async function sectionOf(cli: CliHost): Promise<Section> {
  try {
    return ((await cli.section("dashboard")) ?? {}) as Section;
  } catch (error) {
    if (codeOf(error) === "SVC_CONFIG_MISSING") return {};
    throw error;
  }
}

/** Whether there is an svc.json that could be changed. */
const isSetUp = (cli: CliHost): Promise<boolean> =>
  cli.readSettings().then(
    () => true,
    (error: unknown) => codeOf(error) !== "SVC_CONFIG_MISSING",
  );

/** The daemon of the line, or that of svc.json with its others. */
function daemonsOf({ daemonUrl = THIS_DAEMON, daemons = [], bind = "127.0.0.1", port = 4202, token }: Section, given: string | undefined) {
  if (given !== undefined && !URL.canParse(given))
    throw Object.assign(new Error(`'${given}' is no address of a daemon: it looks like ${THIS_DAEMON}`), { code: "SVC_CLI_USAGE" });
  const far = farDashboards({ daemonUrl: given ?? daemonUrl, daemons });
  const isHere = (given ?? daemonUrl).replace(/\/+$/, "") === THIS_DAEMON;
  if (!isHere) return far;
  const host = bind === "0.0.0.0" || bind === "::" ? "127.0.0.1" : bind.includes(":") ? `[${bind}]` : bind;
  return [{ name: HERE, daemonUrl: THIS_DAEMON, url: `http://${host}:${port}`, ...(token === undefined ? {} : { token }) }, ...far];
}

/** `GET /api/me` of the first daemon with the daemons that are known here; it is answered when that one is away, too. */
function meHere(main: FarDashboard, all: readonly FarDashboard[], send: Send, offline: string | undefined): HttpRoute {
  const daemons = all.slice(1).map(({ name, daemonUrl }) => ({ name, url: daemonUrl }));
  return {
    method: "GET",
    path: "/api/me",
    guard: "scope:dashboard:read",
    async handle({ signal }): Promise<MeView & { readonly problem?: string; readonly offline?: { readonly file: string } }> {
      try {
        const { status, body } = await send(`${main.url}/api/me`, { method: "GET", headers: bearerOf(main), signal });
        const text = await textOf(body);
        if (status === 200) return { ...(JSON.parse(text) as MeView), daemons };
        return { ...NOTHING, node: main.name, daemons, problem: `The dashboard at ${main.url} answers ${status}.` };
      } catch (error) {
        return {
          ...NOTHING,
          node: main.name,
          daemons,
          problem: words(main, error),
          ...(offline === undefined || !isRefused(error) ? {} : { offline: { file: offline } }),
        };
      }
    },
  };
}

const NOTHING = {
  version: "",
  may: { read: true, write: true },
  has: { boards: false, workflows: false, editor: false, presence: false },
} as const;

function passRoute(method: (typeof METHODS)[number], path: string, main: FarDashboard, send: Send): HttpRoute {
  return {
    method,
    path,
    guard: method === "GET" ? "scope:dashboard:read" : "scope:dashboard:write",
    raw: true,
    maxBytes: 26_214_400,
    handle: (request, reply) => forward(main, request.path, request, reply, send),
  };
}

/** The scripts and styles that the build has made, by their names: nothing else is read. */
function assetRoute(): HttpRoute {
  const names = new Set(readdirSync(ASSETS.folder));
  const types: Readonly<Record<string, string>> = { js: "text/javascript; charset=utf-8", css: "text/css; charset=utf-8", svg: "image/svg+xml; charset=utf-8" };
  return {
    method: "GET",
    path: `${ASSETS.prefix}/:name`,
    guard: "open",
    handle({ params: { name = "" }, headers }, reply) {
      const packed = names.has(`${name}.br`);
      if (!packed && !names.has(name)) return reply.status(404).send("There is no such file.", "text/plain; charset=utf-8");
      const taken = packed && /\bbr\b/.test(headers["accept-encoding"]?.toString() ?? "");
      reply.header("cache-control", "public, max-age=31536000, immutable").header("vary", "accept-encoding");
      if (taken) reply.header("content-encoding", "br");
      const bytes = readFileSync(`${ASSETS.folder}/${name}${packed ? ".br" : ""}`);
      return reply.send(packed && !taken ? brotliDecompressSync(bytes) : bytes, types[name.split(".").at(-1) as string] ?? "application/octet-stream");
    },
  };
}

/** A route of the daemon's dashboard as one of this program's own server, with the same content policy. */
function here({ server: _server, handle, ...route }: HttpRoute): HttpRoute {
  return {
    ...route,
    handle(request, reply) {
      for (const [name, value] of Object.entries(HEADERS)) reply.header(name, value);
      return handle(request, reply);
    },
  };
}

const sendPlain: Send = async (url, { method, headers, body, signal }): Promise<Got> => {
  const answer = await fetch(url, { method, headers, signal, redirect: "manual", ...(body === undefined ? {} : { body: new Uint8Array(body) }) });
  return { status: answer.status, headers: Object.fromEntries(answer.headers), body: (answer.body ?? []) as AsyncIterable<Uint8Array> };
};

async function problemOf(main: FarDashboard, send: Send): Promise<string | undefined> {
  try {
    const { status, body } = await send(`${main.url}/api/me`, { method: "GET", headers: bearerOf(main), signal: AbortSignal.timeout(LOOK_MS) });
    await textOf(body);
    return status === 401 ? `The dashboard at ${main.url} does not take our token: set dashboardToken of its entry in dashboard.daemons.` : undefined;
  } catch (error) {
    return words(main, error);
  }
}

const words = ({ url }: FarDashboard, error: unknown): string =>
  `The daemon's dashboard at ${url} cannot be reached: ${reasonOf(error)}. The pages wait for it.`;
const bearerOf = ({ token }: FarDashboard): Record<string, string> => (token === undefined ? {} : { authorization: `Bearer ${token}` });

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

function untilSignal(close: () => Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => close().then(resolve, reject);
    process.once("SIGINT", end);
    process.once("SIGTERM", end);
  });
}
