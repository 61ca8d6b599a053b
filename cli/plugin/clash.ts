import type { Observed, PluginStatus, Source } from "@svc/kernel";
import { firstParty } from "../catalog.ts";
import type { Cli } from "../cli.ts";
import { fail } from "../errors.ts";
import { offlineCode } from "../kernel-code.ts";
import { openRoot } from "./dependency-root.ts";
import { entriesOf } from "./entries.ts";
import { idOf, isPath, type Subject, subjectAt } from "./subject.ts";

/** Things of which there is one by a name. */
const ONE = /^(channel|tier|action|tool|server|authority) /;

/** Refuses a plugin whose id is taken: they could not both load. Throws `SVC_CLI_PLUGIN_LOOK` with the next step. */
export async function requireOwnId(cli: Cli, { entry }: Subject, { id, manifest }: Source): Promise<void> {
  const refuse = (reason: string) => fail("SVC_CLI_PLUGIN_LOOK", { plugin: entry, reason });
  if (manifest === undefined) return;
  if (firstParty().some((ours) => `${ours.manifest.kind}-${ours.manifest.name}` === id)) throw refuse(`${id} comes with svc; a plugin needs a name of its own`);
  const root = openRoot(cli.dataFolder);
  const installed = Object.keys(root.packages()).find((name) => name !== entry && idOf(root.folderOf(name)) === id);
  if (installed !== undefined) throw refuse(`the installed ${installed} is ${id} already; remove it first: svc plugin remove ${installed}`);
  const { readEntry } = offlineCode();
  for (const { name, off } of (await entriesOf(cli)).map(readEntry)) {
    if (off || name === entry || !isPath(name)) continue;
    if (idAt(cli, name) === id) throw refuse(`${name} in plugins of svc.json is ${id} already; remove it first: svc plugin remove ${name}`);
  }
}

function idAt(cli: Cli, path: string): string | undefined {
  try {
    const { folder } = subjectAt(cli, path, cli.folder);
    return folder === undefined ? undefined : idOf(folder);
  } catch {
    return undefined;
  }
}

/** Refuses a plugin that provides something under a name that a plugin of the running daemon uses: it would fail at the next start. */
export async function requireOwnNames(cli: Cli, { entry }: Subject, { id, things }: Observed): Promise<void> {
  let running: readonly PluginStatus[];
  try {
    running = ((await cli.request("GET", "/health")) as { plugins: readonly PluginStatus[] }).plugins;
  } catch {
    // Then the daemon says it when it loads them.
    return;
  }
  for (const other of running) {
    const taken = other.id === id ? undefined : things.find((thing) => ONE.test(thing) && other.provides.includes(thing));
    if (taken === undefined) continue;
    const reason = `it provides ${taken}, and so does ${other.id}, which runs; switch that off first, then restart: svc plugin disable ${other.id}`;
    throw fail("SVC_CLI_PLUGIN_LOOK", { plugin: entry, reason });
  }
}
