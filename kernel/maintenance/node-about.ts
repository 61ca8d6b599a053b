import { createHash } from "node:crypto";
import type { NodeAbout } from "@svc/sdk";
import { type ConfigPath, isRecord } from "../base/config-path.ts";
import { PASSWORD, secretPlaces } from "../base/config-text/secrets.ts";
import type { MaintenanceDeps } from "../core/boot/maintenance-port.ts";

/** Settings that differ between machines by design. */
const OWN = new Set(["$schema", "node", "store"]);
const MOST_TROUBLES = 10;
const MOST_CHARS = 300;
const DIGEST_CHARS = 8;

/** Creates the function that describes this daemon to the others on its store. Cheap to call again: digests are only recomputed for another configuration. */
export function createNodeAbout({ settings, health, address }: Pick<MaintenanceDeps, "settings" | "health" | "address">): () => NodeAbout {
  let of: unknown;
  let digests: NodeAbout["settings"] = {};
  return () => {
    const { configuration } = settings;
    if (of !== configuration) digests = settingDigests(configuration.document.raw, (raw) => secretPlaces(raw, configuration.composed.root));
    of = configuration;
    const { version, instance, problems } = health();
    const { url } = (settings.value.node ?? {}) as { url?: string };
    const at = address();
    return {
      version,
      ...(instance === undefined ? {} : { instance }),
      ...(url === undefined ? {} : { url }),
      ...(at === undefined ? {} : { bind: `${at.host.includes(":") ? `[${at.host}]` : at.host}:${at.port}` }),
      troubles: problems.slice(0, MOST_TROUBLES).map((problem) => (problem.length > MOST_CHARS ? `${problem.slice(0, MOST_CHARS)}...` : problem)),
      settings: digests,
    };
  };
}

/** Returns a digest of each setting by its path, two levels deep; values of credentials are excluded, unless they reference a variable. */
export function settingDigests(
  raw: Readonly<Record<string, unknown>>,
  secretsOf: (raw: Readonly<Record<string, unknown>>) => readonly { readonly path: ConfigPath; readonly value: string }[],
): Record<string, string> {
  const shown = structuredClone(raw) as Record<string, unknown>;
  for (const { path, value } of secretsOf(raw)) if (!value.includes("${")) setAt(shown, path, "");
  const found: Record<string, string> = {};
  for (const [section, value] of Object.entries(shown)) {
    if (OWN.has(section)) continue;
    if (isRecord(value)) for (const [key, inner] of Object.entries(value)) found[`${section}.${key}`] = digestOf(inner);
    else found[section] = digestOf(value);
  }
  return found;
}

function setAt(value: Record<string, unknown>, path: ConfigPath, to: string): void {
  let parent: unknown = value;
  for (const segment of path.slice(0, -1)) parent = (parent as Record<string | number, unknown>)[segment];
  (parent as Record<string | number, unknown>)[path.at(-1) as string | number] = to;
}

const digestOf = (value: unknown): string =>
  createHash("sha256")
    .update(JSON.stringify(sorted(value)))
    .digest("hex")
    .slice(0, DIGEST_CHARS);

/** Ignores the order of an object's keys, and masks the password in an address. */
function sorted(value: unknown): unknown {
  if (typeof value === "string") return value.replace(PASSWORD, (whole, begin: string) => (whole.includes("${") ? whole : begin));
  if (Array.isArray(value)) return value.map(sorted);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  );
}
