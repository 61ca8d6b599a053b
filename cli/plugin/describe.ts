import type { Observed, Pin, Source } from "@svc/kernel";

const list = (things: readonly string[]): string => (things.length === 0 ? "nothing" : things.join(", "));

const lines = (rows: readonly (readonly [label: string, text: string])[]): string[] => rows.map(([label, text]) => `  ${label.padEnd(19)}  ${text}`);

/** Whose process it runs in, and what that means. */
const placeLine = (isolated: boolean): readonly [string, string] => ["runs in", isolated ? "a process of its own" : "the daemon, with the rights of its user"];

/** What a manifest says of a plugin, a line each: read before any of its code runs. A single file has none. */
export function describeDeclared({ id, manifest, version }: Source, isolated = false): string {
  if (manifest === undefined)
    return [`${id}: a single file`, ...lines([["registers", "known only from its code: it has no manifest"], placeLine(isolated)])].join("\n");
  const { product, section, agentKeys = [], capabilities, network, registers, commands = [] } = manifest;
  return [
    `${id} ${version ?? ""}${product === undefined ? "" : ` (${product})`}`,
    ...lines([
      ["section of svc.json", section ?? "none"],
      ["keys of agents", list(agentKeys)],
      ["declares", list([...capabilities].sort())],
      ["network", networkOf(capabilities, network)],
      ...changesOf(capabilities),
      ["registers", registers === undefined ? "not said in its manifest" : list([...registers].sort())],
      ["commands", commands.length === 0 ? "none" : `${commands.map(({ name, summary }) => `svc ${name} (${summary})`).join(", ")}; they run as you`],
      placeLine(isolated),
    ]),
  ].join("\n");
}

/** How far it may change svc.json, where it may. */
function changesOf(capabilities: readonly string[]): (readonly [string, string])[] {
  if (!capabilities.includes("settings")) return [];
  return [["changes in svc.json", capabilities.includes("all-settings") ? "everything, also other plugins and the daemon itself" : "its own section"]];
}

/** Whom it speaks to beside HTTP, and who sees to it. */
function networkOf(capabilities: readonly string[], hosts: readonly string[] | undefined): string {
  const where = hosts === undefined ? "any public host: it names none" : list(hosts.map((host) => HOST_WORDS[host] ?? host));
  if (capabilities.includes("network")) return `connections of its own, unguarded, to ${where}`;
  return capabilities.includes("sockets") ? `guarded connections to ${where}` : "none of its own";
}

const HOST_WORDS: Readonly<Record<string, string>> = { configured: "the hosts of its section", "*": "any host" };

/** What its setup was seen to register in a dry run, a line each. */
export function describeObserved({ id, version, section, agentKeys, capabilities, things }: Observed, isolated = false): string {
  return [
    `${id} ${version}`,
    ...lines([
      ["section of svc.json", section ?? "none"],
      ["keys of agents", list(agentKeys)],
      ["declares", list(capabilities)],
      ["registers", list(things)],
      placeLine(isolated),
    ]),
  ].join("\n");
}

const changes = (label: string, before: readonly string[] = [], after: readonly string[] = []): string[] => [
  ...after.filter((thing) => !before.includes(thing)).map((thing) => `${label.padEnd(9)}  + ${thing}`),
  ...before.filter((thing) => !after.includes(thing)).map((thing) => `${label.padEnd(9)}  - ${thing}`),
];

/** How a manifest differs from the one that is installed, a line each. */
export function describeChange(before: Source, after: Source): string[] {
  const [old, now] = [before.manifest, after.manifest];
  const commands = (source: typeof now) => source?.commands?.map(({ name }) => `svc ${name}`);
  return [
    ...(before.version === after.version ? [] : [`version    ${before.version} -> ${after.version}`]),
    ...changes("declares", old?.capabilities, now?.capabilities),
    ...changes("network", old?.network, now?.network),
    ...changes("registers", old?.registers, now?.registers),
    ...changes("commands", commands(old), commands(now)),
  ];
}

/** How it differs from what was trusted, a line each; none when nothing does. `changed`: its dependencies whose files do. */
export function describeDrift(pin: Pin, now: Observed, integrity: string, changed: readonly string[] = []): string[] {
  return [
    ...(pin.integrity === integrity ? [] : [`files      changed since ${pin.trustedAt}`]),
    ...changed.map((dependency) => `files      of its dependency ${dependency} changed since ${pin.trustedAt}`),
    ...(pin.version === now.version ? [] : [`version    ${pin.version} -> ${now.version}`]),
    ...changes("declares", pin.capabilities, now.capabilities),
    ...changes("registers", pin.registers, now.registers),
  ];
}

/** Is there anything that it may do and might not before? */
export const hasGrown = (drift: readonly string[]): boolean => drift.some((line) => /^\w+ +\+ /.test(line));
