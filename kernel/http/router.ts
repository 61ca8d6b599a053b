import type { HttpRoute, Plugin, ScopeTable } from "@svc/sdk";
import { fail } from "../base/errors.ts";
import { type Rule, ruleOf } from "./guard.ts";

/**
 * A route with the plugin that provides it; without an owner it is the kernel's. With `head` its handler answers `HEAD` as well and sends files;
 * `answers` describes the answers.
 */
export type OwnedRoute = HttpRoute & { readonly owner?: string; readonly head?: true; readonly answers?: Plugin["answers"] };

/** A route in the table, with precomputed facts about it. */
export interface RouteEntry {
  readonly route: OwnedRoute;
  readonly rule: Rule;
  /** Names of its parameters, in the order of the path. */
  readonly names: readonly string[];
}

/** The route that a request matches, with the values of its path parameters. */
export interface Found {
  readonly entry: RouteEntry;
  readonly params: Readonly<Record<string, string>>;
}

/** A table of routes, built from a list and never changed: a new list makes a new table. */
export interface Router {
  readonly entries: readonly RouteEntry[];
  /** Undefined when no route matches. Throws 400 for a path that cannot be decoded safely, 405 for a known path with another method. */
  find(method: string, path: string): Found | undefined;
}

interface Node {
  readonly fixed: Map<string, Node>;
  param?: Node;
  /** Behind a trailing `*`: the rest of the path, as the parameter `*`. */
  rest?: Map<string, RouteEntry>;
  readonly entries: Map<string, RouteEntry>;
}

/** Upper limit of a route's `maxBytes`. */
const MAX_BODY = 26_214_400;
const MAX_PARAMETER = 1_000;
const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({});
const METHODS: ReadonlySet<string> = new Set(["GET", "POST", "PUT", "PATCH", "DELETE"]);

/**
 * Fixed segments win over parameters, longer fixed prefixes over `*`, the first of two routes over the second. `refused` is called for each
 * malformed, unguarded or duplicate route, with `SVC_HTTP_ROUTE`; it is not in the table.
 */
export function createRouter(routes: readonly OwnedRoute[], scopes: ScopeTable, refused: (route: OwnedRoute, error: Error) => void): Router {
  const root = node();
  const direct = new Map<string, Found>();
  const entries: RouteEntry[] = [];
  for (const route of routes) {
    try {
      const entry = checkRoute(route, scopes);
      const at = place(root, route.path);
      const taken = at.get(route.method);
      if (taken !== undefined) {
        const { owner = "kernel" } = taken.route;
        const reason = `${owner === "kernel" ? "the kernel" : owner} has this method and path already`;
        throw fail("SVC_HTTP_ROUTE", { method: route.method, target: route.path, reason });
      }
      at.set(route.method, entry);
      if (entry.names.length === 0) direct.set(`${route.method} ${route.path}`, { entry, params: NO_PARAMS });
      entries.push(entry);
    } catch (error) {
      refused(route, error as Error);
    }
  }

  return {
    entries,
    find(method, path) {
      const known = direct.get(`${method} ${path}`);
      if (known !== undefined) return known;
      const values: string[] = [];
      const other = new Set<string>();
      const entry = walk(root, segmentsOf(path), 0, method, values, other);
      if (entry === undefined) {
        if (other.size > 0) throw fail("SVC_HTTP_METHOD", { method, allow: [...other].sort().join(", ") });
        return undefined;
      }
      return { entry, params: Object.fromEntries(entry.names.map((name, index) => [name, values[index] as string])) };
    },
  };
}

/** Works out a route's guard and parameters. Throws `SVC_HTTP_ROUTE` when it may not be served. */
export function checkRoute(route: OwnedRoute, scopes: ScopeTable): RouteEntry {
  const { method, path } = route;
  const bad = (reason: string) => fail("SVC_HTTP_ROUTE", { method, target: path, reason });
  if (!METHODS.has(method)) throw bad("its method must be one of GET, POST, PUT, PATCH, DELETE");
  if (!/^\/(?:[\w.~-]+|:\w+)?(?:\/(?:[\w.~-]+|:\w+))*(?:\/\*)?$|^\/\*$/.test(path))
    throw bad("its path must be made of /names and /:parameters, and may end with /*");
  const names = path
    .split("/")
    .filter((part) => part.startsWith(":") || part === "*")
    .map((part) => (part === "*" ? part : part.slice(1)));
  if (new Set(names).size < names.length) throw bad("a parameter is there twice");
  const { maxBytes } = route;
  if (maxBytes !== undefined && !(Number.isInteger(maxBytes) && maxBytes > 0 && maxBytes <= MAX_BODY)) throw bad(`its maxBytes must be from 1 to ${MAX_BODY}`);
  return { route, rule: ruleOf(route, scopes), names };
}

const node = (): Node => ({ fixed: new Map(), entries: new Map() });

function place(root: Node, path: string): Map<string, RouteEntry> {
  let at = root;
  for (const part of path.slice(1).split("/")) {
    if (part === "*") {
      at.rest ??= new Map();
      return at.rest;
    }
    if (part.startsWith(":")) at = at.param ??= node();
    else {
      const next = at.fixed.get(part) ?? node();
      at.fixed.set(part, next);
      at = next;
    }
  }
  return at.entries;
}

function walk(at: Node, parts: readonly string[], index: number, method: string, values: string[], other: Set<string>): RouteEntry | undefined {
  if (index === parts.length) return pick(at.entries, method, other);
  const part = parts[index] as string;
  const next = at.fixed.get(part);
  const found = next === undefined ? undefined : walk(next, parts, index + 1, method, values, other);
  if (found !== undefined) return found;
  if (at.param !== undefined && part !== "") {
    values.push(part);
    const inner = walk(at.param, parts, index + 1, method, values, other);
    if (inner !== undefined) return inner;
    values.pop();
  }
  const rest = at.rest === undefined ? undefined : pick(at.rest, method, other);
  if (rest !== undefined) values.push(parts.slice(index).join("/"));
  return rest;
}

function pick(entries: Map<string, RouteEntry>, method: string, other: Set<string>): RouteEntry | undefined {
  const entry = entries.get(method);
  if (entry !== undefined) return entry;
  const get = entries.get("GET");
  if (get?.route.head === true) {
    if (method === "HEAD") return get;
    other.add("HEAD");
  }
  for (const known of entries.keys()) other.add(known);
  return undefined;
}

/** Decodes each segment by itself, so that an encoded slash stays inside its parameter; `..` and control characters are refused. */
function segmentsOf(path: string): string[] {
  return path
    .slice(1)
    .split("/")
    .map((part) => {
      const decoded = part.includes("%") ? decode(part) : part;
      if (decoded.length > MAX_PARAMETER) throw fail("SVC_HTTP_PATH", { reason: `a part is longer than ${MAX_PARAMETER} characters` });
      if (/[\u0000-\u001f\u007f]/.test(decoded)) throw fail("SVC_HTTP_PATH", { reason: "it holds a control character" });
      if (/(?:^|[\\/])\.{1,2}(?:$|[\\/])/.test(decoded)) throw fail("SVC_HTTP_PATH", { reason: "it climbs with '.' or '..'" });
      return decoded;
    });
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw fail("SVC_HTTP_PATH", { reason: "it is not valid percent-encoding" });
  }
}
