import { fail } from "../../base/errors.ts";

/** Refuses a host that is not in the list that the manifest has shown to the operator. Throws `SVC_SOCKET_HOST`. */
export function requireNamed(plugin: string, hosts: readonly string[] | undefined, section: unknown, host: string, port: number): void {
  if (hosts === undefined || hosts.some((pattern) => names(pattern, section, host.toLowerCase(), port))) return;
  throw fail("SVC_SOCKET_HOST", { plugin, host: written(host, port), hosts: hosts.join(", ") });
}

/** Whether the operator has seen this host: it stands in the plugin's section, or in the list of its manifest. */
export const isSeen = (hosts: readonly string[] = [], section: unknown, host: string, port: number): boolean =>
  standsIn(section, host.toLowerCase(), port) || hosts.some((pattern) => names(pattern, section, host.toLowerCase(), port));

/** A host and port as one writes them: an IPv6 address in brackets. */
export const written = (host: string, port: number): string => `${host.includes(":") ? `[${host}]` : host}:${port}`;

function names(pattern: string, section: unknown, host: string, port: number): boolean {
  if (pattern === "*") return true;
  if (pattern === "configured") return standsIn(section, host, port);
  const [, name = "", only] = /^(\[.*\]|[^:]*)(?::(\d+))?$/.exec(pattern.toLowerCase()) ?? [];
  if (only !== undefined && Number(only) !== port) return false;
  return name.startsWith("*.") ? host.endsWith(name.slice(1)) && host.length > name.length - 1 : bare(name) === host;
}

/** A text of the section that is the host, the host and the port, or an address there. */
function standsIn(value: unknown, host: string, port: number): boolean {
  if (typeof value === "object" && value !== null) return Object.values(value).some((inner) => standsIn(inner, host, port));
  if (typeof value !== "string") return false;
  const text = value.toLowerCase();
  if (bare(text) === host || text === written(host, port)) return true;
  return URL.canParse(value) && bare(new URL(value).hostname.toLowerCase()) === host;
}

/** A host without the brackets of an IPv6 address. */
export const bare = (host: string): string => host.replace(/^\[|\]$/g, "");
