import { readFileSync, realpathSync } from "node:fs";
import { isAbsolute, join, relative, resolve } from "node:path";
import { API_FLOOR, API_GENERATION, type EngineOffer, type Kind, type Manifest, type ProvidedKind, reasonOf } from "@svc/sdk";
import { CAPABILITIES, PERMISSIONS, PROVIDED, whyNoScope } from "@svc/sdk/host";
import { fail } from "../base/errors.ts";
import { nearest } from "../base/nearest.ts";

/** A plugin's package.json, as far as a host needs it. */
export interface PackageManifest {
  readonly manifest: Manifest;
  readonly version?: string;
}

const PROVIDED_KINDS = Object.keys(PROVIDED) as readonly ProvidedKind[];
const PLUGIN_KINDS = [...PROVIDED_KINDS.filter((kind) => PROVIDED[kind].ofPlugins === true), "feature"] as readonly Kind[];
const ACTIVATIONS: readonly Manifest["activate"][] = ["always", "section", "enabled", "agent", "needed"];
const NAME = /^[a-z][a-z0-9-]*$/;
/** A host in `network`: `irc.example.org:6697`, `*.example.org`, `configured` for hosts in the plugin's section, `*` for any. */
const HOST = /^(?:\*|configured|(?:\*\.)?[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d{1,5})?|\[[0-9a-f:.]+\](?::\d{1,5})?)$/i;

const DECLARABLE: readonly string[] = [...CAPABILITIES, ...PERMISSIONS];

/** First words of the entries in `registers`. */
const THINGS: readonly string[] = [...PROVIDED_KINDS, "cron", "hook"].sort();

/** Why a value cannot be that member of a manifest; undefined when it can. */
type Check = (value: unknown) => string | undefined;

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";
const listOf =
  (what: string, each: (text: string) => string | undefined): Check =>
  (value) => {
    if (!Array.isArray(value) || !value.every(isText)) return `must be a list of ${what}`;
    return value.map(each).find((wrong) => wrong !== undefined);
  };
const oneOf =
  (words: readonly string[]): Check =>
  (value) =>
    words.includes(value as string) ? undefined : `must be one of ${words.join(", ")}${meant(value, words)}`;
const meant = (value: unknown, words: readonly string[]): string => {
  const near = typeof value === "string" ? nearest(value, words) : undefined;
  return near === undefined ? "" : `; did you mean ${near}?`;
};
const anyText: Check = (value) => (isText(value) ? undefined : "must be a text");

const CHECKS: Readonly<Record<keyof Manifest, Check>> = {
  api: (api) =>
    Number.isInteger(api) && (api as number) >= API_FLOOR && (api as number) <= API_GENERATION
      ? undefined
      : `it is written for generation ${String(api)} of the plugin API, this daemon speaks ${API_FLOOR === API_GENERATION ? API_GENERATION : `${API_FLOOR} to ${API_GENERATION}`}`,
  kind: oneOf(PLUGIN_KINDS),
  name: (name) => (isName(name) ? undefined : "must be lower-case letters, digits and '-'"),
  product: anyText,
  entry: (entry) => (isText(entry) ? undefined : "must name the built file"),
  section: anyText,
  agentKeys: listOf("keys", () => undefined),
  activate: oneOf(ACTIVATIONS),
  serves: listOf("capabilities", whyNoCapability),
  default: (value) => (value === true ? undefined : "must be true, or left out"),
  strategies: listOf("names of strategies", (text) => (isName(text) ? undefined : `names '${text}', which must be lower-case letters, digits and '-'`)),
  capabilities: (value) => {
    if (value === undefined) return "is missing; list the capabilities it uses, [] for none";
    return listOf("capabilities", whyNoCapability)(value);
  },
  startTimeoutMs: (value) => (typeof value === "number" && value > 0 ? undefined : "must be a number of milliseconds"),
  commands: (value) =>
    Array.isArray(value) && value.every((group) => isText(group?.name) && isText(group?.summary) && isText(group?.module))
      ? undefined
      : "must be a list of groups with name, summary and module",
  registers: listOf("things that it registers", (text) => {
    const [word = ""] = text.split(" ");
    return THINGS.includes(word) && text.length > word.length + 1
      ? undefined
      : `names '${text}', which must begin with one of ${THINGS.join(", ")} and a name${meant(word, THINGS)}`;
  }),
  network: listOf("hosts", (host) => (HOST.test(host) ? undefined : `names '${host}', which is none of host:port, *.domain, configured and *`)),
  scopes: (value) => {
    if (!Array.isArray(value)) return "must be a list of scopes";
    return value
      .map((scope) => (typeof scope === "object" && scope !== null ? whyNoScope(scope) : "holds what is not a scope"))
      .find((wrong) => wrong !== undefined);
  },
  engines: (value) => (Array.isArray(value) ? value.map(whyNoEngine).find((wrong) => wrong !== undefined) : "must be a list of engines"),
  connect: (value) => {
    const { agent, allow, server, module, pair, people, ...other } = (value ?? {}) as Record<string, unknown>;
    const fits =
      [agent, allow, server, module].every((path) => path === undefined || isText(path)) && [pair, people].every((flag) => flag === undefined || flag === true);
    return fits && Object.keys(other).length === 0
      ? undefined
      : "may have agent, allow and server, each a path in its section, a module, pair: true, or people: true";
  },
};

/** Why an engine of a tier cannot be offered; undefined when it can. */
function whyNoEngine(value: unknown): string | undefined {
  const offer = (value ?? {}) as Readonly<Record<string, unknown>>;
  if (!isText(offer.name)) return "must name each engine";
  const unknown = Object.keys(offer).find((key) => !Object.hasOwn(OFFER, key));
  if (unknown !== undefined) return `of '${offer.name}' has the key '${unknown}', which means nothing${meant(unknown, Object.keys(OFFER))}`;
  const wrong = Object.entries(offer).find(([key, each]) => (Array.isArray(each) ? "list" : typeof each) !== OFFER[key as keyof EngineOffer]);
  return wrong === undefined ? undefined : `of '${offer.name}': ${wrong[0]} must be a ${OFFER[wrong[0] as keyof EngineOffer]}`;
}

/** The types of an offer's members. */
const OFFER: Readonly<Record<keyof EngineOffer, string>> = {
  name: "string",
  program: "string",
  install: "string",
  hint: "string",
  key: "string",
  server: "object",
  provider: "object",
  models: "list",
  settings: "object",
  rank: "number",
};

const REQUIRED: readonly (keyof Manifest)[] = ["api", "kind", "name", "entry", "activate", "capabilities"];

/** A kind that plugins of this version can be. */
export const isKind = (value: unknown): value is Kind => PLUGIN_KINDS.includes(value as Kind);

/** Whether a value can be a plugin's name: lower-case letters, digits and `-`. */
export const isName = (value: unknown): value is string => typeof value === "string" && NAME.test(value);

/** Why a value that a program hands over is no plugin; undefined when it is one. Its kind is judged where it is loaded. */
export function whyNoPlugin(value: unknown): string | undefined {
  const { kind, name, capabilities, setup } = (value ?? {}) as Partial<Record<string, unknown>>;
  if (typeof setup !== "function" || typeof kind !== "string")
    return "is no plugin made with definePlugin; packages and files are named in 'plugins' of the configuration";
  for (const [member, wrong] of [
    ["name", CHECKS.name(name)],
    ["capabilities", CHECKS.capabilities(capabilities)],
  ] as const)
    if (wrong !== undefined) return `cannot be used: its ${member} ${wrong}`;
  return undefined;
}

/** Why a plugin of that kind cannot be taken; undefined when it can. */
export const whyNoKind = (kind: unknown): string | undefined => CHECKS.kind(kind);

function whyNoCapability(capability: string): string | undefined {
  if (DECLARABLE.includes(capability) || /^env:(\*|[A-Za-z_][A-Za-z0-9_]*)$/.test(capability)) return undefined;
  return `names '${capability}', which is none${meant(capability, DECLARABLE) || `; there are ${DECLARABLE.join(", ")} and env:<NAME>`}`;
}

/**
 * Reads the `svc` member of a package folder's package.json; undefined if it has none. Throws `SVC_PLUGIN_MANIFEST` naming the invalid key. Reads
 * JSON only. `strict`: also refuses an entry or module outside of the folder, links resolved.
 */
export function readPackage(folder: string, strict: boolean): PackageManifest | undefined {
  const file = join(folder, "package.json");
  let pkg: { version?: string; svc?: Manifest };
  try {
    pkg = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw fail("SVC_PLUGIN_MANIFEST", { file, reason: reasonOf(error) });
  }
  const manifest = pkg?.svc;
  if (manifest === undefined) return undefined;
  const reason = whyWrong(manifest) ?? (strict ? whyOutside(folder, manifest) : undefined);
  if (reason !== undefined) throw fail("SVC_PLUGIN_MANIFEST", { file, reason });
  return { manifest, ...(typeof pkg.version === "string" ? { version: pkg.version } : {}) };
}

function whyWrong(manifest: unknown): string | undefined {
  if (typeof manifest !== "object" || manifest === null || Array.isArray(manifest)) return "svc must be an object";
  const given = manifest as Readonly<Record<string, unknown>>;
  const wrong = (key: keyof Manifest) => {
    const reason = CHECKS[key](given[key]);
    return reason === undefined ? [] : [key === "api" ? reason : `${key} ${reason}`];
  };
  const [first] = REQUIRED.flatMap(wrong);
  if (first !== undefined) return first;
  for (const key of Object.keys(given)) {
    if (!Object.hasOwn(CHECKS, key)) return `svc has the key '${key}', which means nothing${meant(key, Object.keys(CHECKS))}`;
    const [reason] = REQUIRED.includes(key as keyof Manifest) ? [] : wrong(key as keyof Manifest);
    if (reason !== undefined) return reason;
  }
  const { network, capabilities } = given as Partial<Manifest>;
  if (network !== undefined && !capabilities?.some((capability) => capability === "network" || capability === "sockets"))
    return "network names hosts, which the capability 'sockets' or 'network' must go with";
  return undefined;
}

/** Named files must be the package's own: only those were inspected, hashed and trusted. */
function whyOutside(folder: string, { entry, commands = [], connect }: Manifest): string | undefined {
  const named: [what: string, path: string][] = [
    ["entry", entry],
    ...commands.map(({ module }): [string, string] => ["the module of a command group", module]),
    ...(connect?.module === undefined ? [] : [["the module of connect", connect.module] as [string, string]]),
  ];
  const outside = named.find(([, path]) => !liesIn(folder, path));
  return outside === undefined ? undefined : `${outside[0]} '${outside[1]}' leads out of the package`;
}

function liesIn(folder: string, path: string): boolean {
  const below = (from: string, to: string): boolean => {
    const way = relative(from, to);
    return way !== "" && way !== ".." && !way.startsWith("../") && !isAbsolute(way);
  };
  const full = resolve(folder, path);
  if (isAbsolute(path) || !below(folder, full)) return false;
  try {
    return below(realpathSync(folder), realpathSync(full));
  } catch {
    // A missing file cannot run. Its user reports it when it is needed.
    return true;
  }
}
