import type { Observed, Pin, Source } from "@svc/kernel";
import { oneLine } from "../cli.ts";

/** Characters of one word of a manifest. */
const LONGEST = 200;

/** A stranger's words: on further lines, or longer than the screen, they could pass for what we say of the plugin. */
function word(text: string): string {
  const said = oneLine(text);
  return said.length > LONGEST ? `${said.slice(0, LONGEST)} ... (${said.length} characters)` : said;
}

const list = (things: readonly string[]): string => (things.length === 0 ? "nothing" : things.map(word).join(", "));

const lines = (rows: readonly (readonly [label: string, text: string])[]): string[] => rows.map(([label, text]) => `  ${label.padEnd(19)}  ${text}`);

/** Names the process that it runs in, with the consequences. */
const placeLine = (isolated: boolean): readonly [string, string] => ["runs in", isolated ? "a process of its own" : "the daemon, with the rights of its user"];

/** Describes a plugin's manifest, a line each: read before any of its code runs. A single file has none. */
export function describeDeclared({ id, manifest, version }: Source, isolated = false): string {
  if (manifest === undefined)
    return [`${id}: a single file`, ...lines([["registers", "known only from its code: it has no manifest"], placeLine(isolated)])].join("\n");
  const { product, section, agentKeys = [], capabilities, network, registers, commands = [] } = manifest;
  return [
    `${id} ${word(version ?? "")}${product === undefined ? "" : ` (${word(product)})`}`,
    ...lines([
      ["section of svc.json", word(section ?? "none")],
      ["keys of agents", list(agentKeys)],
      ["declares", list([...capabilities].sort())],
      ["network", networkOf(capabilities, network)],
      ...changesOf(capabilities),
      ["registers", registers === undefined ? "not said in its manifest" : list([...registers].sort())],
      [
        "commands",
        commands.length === 0 ? "none" : `${commands.map(({ name, summary }) => `svc ${word(name)} (${word(summary)})`).join(", ")}; they run as you`,
      ],
      placeLine(isolated),
    ]),
  ].join("\n");
}

/** Describes the permission to change svc.json, if the plugin declares it. */
function changesOf(capabilities: readonly string[]): (readonly [string, string])[] {
  if (!capabilities.includes("settings")) return [];
  return [["changes in svc.json", capabilities.includes("all-settings") ? "everything, also other plugins and the daemon itself" : "its own section"]];
}

/** Describes its connections beside HTTP, and whether they are guarded. */
function networkOf(capabilities: readonly string[], hosts: readonly string[] | undefined): string {
  const where = hosts === undefined ? "any public host: it names none" : list(hosts.map((host) => HOST_WORDS[host] ?? host));
  if (capabilities.includes("network")) return `connections of its own, unguarded, to ${where}`;
  return capabilities.includes("sockets") ? `guarded connections to ${where}` : "none of its own";
}

const HOST_WORDS: Readonly<Record<string, string>> = { configured: "the hosts of its section", "*": "any host" };

/** Describes the registrations observed in a dry run, a line each. */
export function describeObserved({ id, version, section, agentKeys, capabilities, things }: Observed, isolated = false): string {
  return [
    word(`${id} ${version}`),
    ...lines([
      ["section of svc.json", word(section ?? "none")],
      ["keys of agents", list(agentKeys)],
      ["declares", list(capabilities)],
      ["registers", list(things)],
      placeLine(isolated),
    ]),
  ].join("\n");
}

const changes = (label: string, before: readonly string[] = [], after: readonly string[] = []): string[] => [
  ...after.filter((thing) => !before.includes(thing)).map((thing) => `${label.padEnd(9)}  + ${word(thing)}`),
  ...before.filter((thing) => !after.includes(thing)).map((thing) => `${label.padEnd(9)}  - ${word(thing)}`),
];

/** Describes the differences of a manifest from the installed one, a line each. */
export function describeChange(before: Source, after: Source): string[] {
  const [old, now] = [before.manifest, after.manifest];
  const commands = (source: typeof now) => source?.commands?.map(({ name }) => `svc ${name}`);
  return [
    ...(before.version === after.version ? [] : [`version    ${word(before.version ?? "")} -> ${word(after.version ?? "")}`]),
    ...changes("declares", old?.capabilities, now?.capabilities),
    ...changes("network", old?.network, now?.network),
    ...changes("registers", old?.registers, now?.registers),
    ...changes("commands", commands(old), commands(now)),
  ];
}

/** Describes the differences from the pin, a line each; empty if there are none. `changed`: its dependencies whose files differ. */
export function describeDrift(pin: Pin, now: Observed, integrity: string, changed: readonly string[] = []): string[] {
  return [
    ...(pin.integrity === integrity ? [] : [`files      changed since ${pin.trustedAt}`]),
    ...changed.map((dependency) => `files      of its dependency ${dependency} changed since ${pin.trustedAt}`),
    ...(pin.version === now.version ? [] : [`version    ${pin.version} -> ${word(now.version)}`]),
    ...changes("declares", pin.capabilities, now.capabilities),
    ...changes("registers", pin.registers, now.registers),
  ];
}

/** Whether it has new rights. */
export const hasGrown = (drift: readonly string[]): boolean => drift.some((line) => /^\w+ +\+ /.test(line));
