import type { Capability, ChannelTraits, HttpReply, HttpRequest, Provided, ProvidedHandle, ProvidedKind, ScopeTable, SharedKind } from "@svc/sdk";
import { PROVIDED } from "@svc/sdk/host";
import { fail } from "../../base/errors.ts";
import { fileRoot, type ServedFolder } from "../../base/file-root.ts";
import { frozen } from "../../base/frozen.ts";
import { requireScope } from "../../base/guard-scope.ts";
import type { FileRoute, Owned, OwnedBy, ProvidedChannel, Scope } from "./scope.ts";

type MemberType = "string" | "number" | "object" | "function";
type Members = Readonly<Record<string, MemberType>>;

/** Parts of the kernel that use provided things. */
export interface ProvideDeps {
  /** Refuses a second thing of the same kind and name, naming its owner. */
  claim(scope: Scope, kind: ProvidedKind, name: string): void;
  /** Token scopes that plugins declare. */
  readonly tokenScopes: ScopeTable;
  /** Throws for a route that the server it names cannot serve. */
  requireServable(route: Provided["route"]): void;
  /** Answers `GET` or `HEAD` with one file of a folder. */
  serveFile(served: ServedFolder, request: HttpRequest, reply: HttpReply): Promise<void>;
  server(scope: Scope, server: Provided["server"]): ProvidedHandle<"server">;
  /** A channel's platform connected or went away. */
  channelState(channel: ProvidedChannel): void;
}

/** The kernel's handling of a kind. Names and required capabilities of the kinds are in the sdk: `PROVIDED`. */
export interface KindRow<K extends ProvidedKind> {
  /** The members without which the kernel cannot use a thing, each with its type. */
  readonly members: Members;
  /** The members by which people know a thing; default `name`. */
  readonly title?: readonly string[];
  /** Further checks whether a thing is usable. */
  whyUnusable?(thing: Provided[K]): string | undefined;
  /** Description in `svc plugin list` after the kind; default the title. */
  describe?(thing: Provided[K]): string;
  /** Declaration after the kind in `registers` of a manifest; default the title. */
  declare?(thing: Provided[K]): string;
  /** Rights that an operator approves with a thing, and that later versions may not extend; default the kind. */
  agreed?(thing: Provided[K]): readonly string[];
  /** Refuses a thing before it is registered. */
  admit?(thing: Provided[K], deps: ProvideDeps): void;
  /** Creates the kernel's own state beside a thing. */
  state?(thing: Provided[K], scope: Scope, deps: ProvideDeps): Omit<OwnedBy<K>, keyof Owned<unknown>>;
  /** Creates the return value of `provide`; `withdraw` removes the thing. */
  handle?(owned: OwnedBy<K>, deps: ProvideDeps, withdraw: () => void): ProvidedHandle<K>;
  /** Capabilities that the kernel itself uses for things of the kind. */
  readonly uses?: readonly Capability[];
  /** An isolated plugin can provide one: `isolation/` then says how it crosses to its process. */
  readonly crosses: boolean;
  /** Other plugins may use the things of this kind. */
  readonly shared?: K extends SharedKind ? true : never;
}

/** Part of the names of stored state. */
const CHANNEL_NAME = /^[a-z0-9][a-z0-9._-]*$/;
const SERVICE_NAME = /^[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)*$/;
const TRAITS: Members = { maxChars: "number", unit: "string" };

/**
 * The one place of the kernel that names the kinds of provided things. Scopes, claims, live plugins, descriptions, observation and
 * isolation follow from it; a new kind is a row here and a line in the sdk's `Provided`.
 */
export const KINDS = {
  channel: {
    members: { name: "string", traits: "object", send: "function" },
    whyUnusable({ name, traits }) {
      if (!CHANNEL_NAME.test(name)) return `the name '${name}' is not of lower-case letters, digits, '-', '_' and '.'`;
      const trait = missing(traits, TRAITS) ?? whyNoMarkup(traits);
      return trait === undefined ? undefined : `of its traits, ${trait}`;
    },
    state: () => ({ state: "connecting" }),
    handle: (channel, deps) => ({
      ready: (note) => connect(channel, deps, "ready", note),
      down: (reason) => connect(channel, deps, "down", reason),
    }),
    // The kernel renders for every channel, whatever kind of plugin provides it.
    uses: ["render"],
    crosses: true,
  },
  tier: { members: { name: "string", run: "function" }, crosses: true },
  action: {
    members: { name: "string", input: "object", output: "object", timeoutMs: "number", run: "function" },
    handle: (_owned, _deps, withdraw) => withdraw,
    // Everybody who lists actions is given these very schemas.
    admit: ({ input, output }) => void frozen([input, output]),
    crosses: true,
  },
  route: {
    members: { method: "string", path: "string", guard: "string", handle: "function" },
    title: ["method", "path"],
    declare: ({ server, method, path, guard }) => `${server === undefined ? "" : `${server}:`}${method} ${path} ${guard}`,
    agreed: ({ guard }) => [`route ${guard}`],
    admit(route, deps) {
      requireScope(route, deps.tokenScopes);
      deps.requireServable(route);
    },
    crosses: true,
  },
  server: {
    members: { name: "string", host: "string", port: "number" },
    describe: ({ name, host, port }) => `${name} ${host}:${port}`,
    // Include the scopes that this machine has there without a token.
    agreed: ({ localScopes = [] }) => ["server", ...localScopes.map((granted) => `server granting ${granted}`)],
    handle: ({ scope, thing }, deps) => deps.server(scope, thing),
    crosses: false,
  },
  authority: { members: { name: "string", verify: "function" }, crosses: false },
  tool: {
    members: { name: "string", input: "object", run: "function" },
    // Models' APIs refuse a whole request for one tool whose input is something else.
    whyUnusable: ({ input }) => (input.type === "object" ? undefined : "its input is no JSON Schema with type: 'object'"),
    crosses: true,
  },
  toolset: { members: { name: "string", tools: "function" }, crosses: false },
  store: { members: { name: "string", open: "function" }, crosses: false },
  board: { members: { name: "string", list: "function", get: "function" }, crosses: false, shared: true },
  service: {
    members: { name: "string", api: "object" },
    whyUnusable: ({ name }) =>
      SERVICE_NAME.test(name) ? undefined : `the name '${name}' is not of words of lower-case letters, digits and '-', with dots between them`,
    crosses: false,
  },
  panel: {
    members: { id: "string", title: "string", place: "string", guard: "string", module: "string" },
    title: ["id"],
    whyUnusable({ id, place, module }) {
      if (!/^[a-z0-9][a-z0-9-]*$/.test(id)) return `the id '${id}' is not of lower-case letters, digits and '-'`;
      if (!["page", "admin", "card"].includes(place)) return `its place '${place}' must be page, admin or card`;
      return /^\/(?!\/)/.test(module) ? undefined : `its module '${module}' is not a path on the dashboard's server`;
    },
    agreed: ({ guard }) => [`panel ${guard}`],
    crosses: false,
    shared: true,
  },
  files: {
    members: { prefix: "string", folder: "string", guard: "string" },
    title: ["prefix"],
    whyUnusable: ({ prefix }) => (/^(?:\/[\w~-][\w.~-]*)+$/.test(prefix) ? undefined : `its prefix '${prefix}' is not a path of plain names, such as /acme/ui`),
    declare: ({ server, prefix, guard }) => `${server === undefined ? "" : `${server}:`}${prefix} ${guard}`,
    agreed: ({ guard }) => [`files ${guard}`],
    state(files, scope, deps) {
      const route = fileRoute(files, scope, deps);
      requireScope(route, deps.tokenScopes);
      deps.requireServable(route);
      return { route };
    },
    crosses: false,
  },
} as const satisfies { readonly [K in ProvidedKind]: KindRow<K> };

/** The kinds that an isolated plugin can provide. */
export type CrossingKind = { [K in ProvidedKind]: (typeof KINDS)[K]["crosses"] extends true ? K : never }[ProvidedKind];

/** Every kind, in the order in which a plugin's registrations are shown. */
export const PROVIDED_KINDS = Object.keys(PROVIDED) as readonly ProvidedKind[];

/** The row of a kind, with the members that only some kinds have. */
export const kindRow = <K extends ProvidedKind>(kind: K): KindRow<K> => KINDS[kind] as unknown as KindRow<K>;

/** Returns why the kernel cannot use a thing, undefined if it can. Called once, when the thing is provided: it is not checked again later. */
export function whyUnusable<K extends ProvidedKind>(kind: K, thing: unknown): string | undefined {
  const row = kindRow(kind);
  return missing(thing, row.members) ?? row.whyUnusable?.(thing as Provided[K]);
}

/** Returns `an action 'acme.send'`, `a route 'GET /acme'`; without a title only the kind. */
export function nameThing(kind: ProvidedKind, thing: unknown): string {
  const title = titleOf(kind, thing);
  return `${articled(kind)}${title === "" ? "" : ` '${title}'`}`;
}

/** The members by which people know a thing, as far as it has them. */
export function titleOf(kind: ProvidedKind, thing: unknown): string {
  const members = (thing ?? {}) as Readonly<Record<string, unknown>>;
  return (kindRow(kind).title ?? ["name"])
    .map((name) => members[name])
    .filter((part) => typeof part === "string")
    .join(" ");
}

/** `an action`, `a route`. */
export const articled = (word: string): string => (word.endsWith("s") ? word : `${/^[aeiou]/.test(word) ? "an" : "a"} ${word}`);

/** Returns why answers cannot be rendered with these traits. The renderer refuses the name of an unknown dialect. */
function whyNoMarkup({ markup, dialect }: ChannelTraits): string | undefined {
  if (markup === undefined) return typeof dialect === "string" ? undefined : "dialect must be a string, or markup an object";
  if (typeof markup !== "object" || markup === null) return "markup must be an object";
  const { escapes = {}, headings = [], linkOnce, ...forms } = markup;
  if (!isObject(escapes) || !Object.values(escapes).every((table) => isObject(table) && Object.values(table).every(isString)))
    return "markup.escapes must be tables of strings";
  if (!Array.isArray(headings) || !headings.every(isString)) return "markup.headings must be a list of strings";
  if (linkOnce !== undefined && linkOnce !== true) return "markup.linkOnce must be true, or left out";
  const wrong = Object.entries(forms).find(([, form]) => form !== undefined && !isString(form));
  return wrong === undefined ? undefined : `markup.${wrong[0]} must be a string`;
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;
const isString = (value: unknown): value is string => typeof value === "string";

/** The route that serves files. Throws `SVC_PLUGIN_PROVIDES` for a folder that is not its plugin's own. */
function fileRoute(files: Provided["files"], scope: Scope, deps: ProvideDeps): FileRoute {
  const root = fileRoot(files, scope.home);
  if ("wrong" in root) throw fail("SVC_PLUGIN_PROVIDES", { plugin: scope.id, kind: nameThing("files", files), reason: root.wrong });
  const { prefix, guard, server, immutable } = files;
  const served = { ...root, cacheControl: cacheControlOf(guard, immutable) };
  return {
    method: "GET",
    path: `${prefix}/*`,
    guard,
    ...(server === undefined ? {} : { server }),
    head: true,
    handle: (request, reply) => deps.serveFile(served, request, reply),
  };
}

/** Clients revalidate a copy before each use, unless the file is immutable; shared caches must not store files behind a guard. */
function cacheControlOf(guard: string, immutable = false): string {
  return `${guard === "open" ? "public" : "private"}, ${immutable ? "max-age=31536000, immutable" : "no-cache"}`;
}

function connect(channel: ProvidedChannel, deps: ProvideDeps, state: ProvidedChannel["state"], reason?: string): void {
  if (channel.state === state && channel.reason === reason) return;
  channel.state = state;
  if (reason === undefined) delete channel.reason;
  else channel.reason = reason;
  deps.channelState(channel);
}

function missing(thing: unknown, members: Members): string | undefined {
  if (typeof thing !== "object" || thing === null) return "it is no object";
  const found = Object.entries(members).find(([name, type]) => {
    const value = (thing as Record<string, unknown>)[name];
    return typeof value !== type || value === null;
  });
  return found === undefined ? undefined : `${found[0]} must be ${articled(found[1])}`;
}
