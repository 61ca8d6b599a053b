import { dirname, join } from "node:path";
import { type Agent, isLoaderVariable } from "@svc/sdk";
import { isOwnServer } from "@svc/sdk/program-tier";
import { applyEdits, type Edit, modify, type ParseError, parse } from "jsonc-parser";

/** Entries of `mcpServers` by name, as they stand in the file. */
export type Servers = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** A server that is not written, and why. */
export interface RefusedServer {
  readonly agent: string;
  readonly server: string;
  readonly reason: string;
}

/**
 * The entries that some agents of one workspace ask for. An environment that makes programs load code is refused. Engines start `svc
 * mcp` in the workspace, where no svc.json is: it is told of this daemon's folder, which is the parent of `dataFolder`.
 */
export function serversOf(agents: readonly Agent[], dataFolder?: string): { readonly servers: Servers; readonly refused: readonly RefusedServer[] } {
  const servers: Record<string, Readonly<Record<string, unknown>>> = {};
  const asked = new Map<string, unknown>();
  const refused: RefusedServer[] = [];
  for (const { id, settings } of agents) {
    for (const [server, entry] of Object.entries((settings.mcp as Record<string, Record<string, unknown>> | undefined) ?? {})) {
      const loader = Object.keys((entry.env as Record<string, string> | undefined) ?? {}).find(isLoaderVariable);
      if (loader !== undefined) refused.push({ agent: id, server, reason: `the variable ${loader} makes programs load code` });
      else if (asked.has(server) && JSON.stringify(asked.get(server)) !== JSON.stringify(entry))
        refused.push({ agent: id, server, reason: "another agent with this workspace has a different server of this name" });
      else {
        asked.set(server, entry);
        servers[server] = dataFolder !== undefined && isOwnServer(entry) ? findingUs(entry, dataFolder) : entry;
      }
    }
  }
  return { servers, refused };
}

function findingUs(entry: Readonly<Record<string, unknown>>, dataFolder: string): Readonly<Record<string, unknown>> {
  const env = (entry.env ?? {}) as Readonly<Record<string, string>>;
  return env.SVC_CONFIG === undefined ? { ...entry, env: { ...env, SVC_CONFIG: join(dirname(dataFolder), "svc.json") } } : entry;
}

/**
 * The text of `.mcp.json` with `wanted` in it. An entry that differs from what was `written` was changed by hand and stays; so does
 * one that was removed by hand, until the configuration changes. Everything that is not ours keeps its bytes. Undefined when
 * `text` is no object with an object of servers.
 */
export function merge(text: string | undefined, wanted: Servers, written: Servers): string | undefined {
  if (text === undefined || text.trim() === "") return Object.keys(wanted).length === 0 ? text : `${JSON.stringify({ mcpServers: wanted }, null, 2)}\n`;
  const errors: ParseError[] = [];
  const root: unknown = parse(text, errors, { allowTrailingComma: true });
  if (errors.length > 0 || !isObject(root) || !(root.mcpServers === undefined || isObject(root.mcpServers))) return undefined;
  const present = (root.mcpServers ?? {}) as Record<string, unknown>;
  let merged = text;
  for (const name of new Set([...Object.keys(written), ...Object.keys(wanted)])) {
    const [now, last, next] = [present[name], written[name], wanted[name]];
    const byHand = now === undefined ? last !== undefined && same(last, next) : !same(now, last);
    if (!byHand && !same(now, next)) merged = change(merged, name, next);
  }
  return merged;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * One entry set, or taken out when `entry` is undefined. The library would format its neighbours along; so it only says where, and
 * the words are ours, in the indentation of the file.
 */
function change(text: string, name: string, entry: unknown): string {
  const [edit] = modify(text, ["mcpServers", name], entry, {});
  if (edit === undefined) return text;
  const content = edit.content === "" ? "" : layOut(edit, text, name, entry);
  return applyEdits(text, [{ ...edit, content }]);
}

function layOut({ content, offset }: Edit, text: string, name: string, entry: unknown): string {
  const indent = /\n([ \t]+)"/.exec(text)?.[1] ?? "  ";
  const newline = text.includes("\r\n") ? "\r\n" : "\n";
  const lines = (value: unknown, depth: number) => JSON.stringify(value, null, indent).replaceAll("\n", newline + indent.repeat(depth));
  const added = /^(,?)"/.exec(content);
  if (added === null) return lines(entry, 2);
  const whole = content.slice(added[1]?.length).startsWith('"mcpServers"');
  const depth = whole ? 1 : 2;
  const member = whole ? `"mcpServers": ${lines({ [name]: entry }, 1)}` : `${JSON.stringify(name)}: ${lines(entry, 2)}`;
  const closed = /^\s*}/.test(text.slice(offset)) && !/^[ \t]*\r?\n/.test(text.slice(offset)) ? newline + indent.repeat(depth - 1) : "";
  return `${added[1]}${newline}${indent.repeat(depth)}${member}${closed}`;
}

/** The same value, whatever the order of the keys. */
function same(left: unknown, right: unknown): boolean {
  if (isObject(left) && isObject(right)) {
    const keys = Object.keys(left);
    return keys.length === Object.keys(right).length && keys.every((key) => key in right && same(left[key], right[key]));
  }
  if (Array.isArray(left) && Array.isArray(right)) return left.length === right.length && left.every((item, index) => same(item, right[index]));
  return left === right;
}
