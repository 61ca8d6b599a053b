import { APART } from "../apart.ts";
import { added, calledAs, firstParty } from "../catalog.ts";
import type { Cli } from "../cli.ts";
import { fail } from "../errors.ts";
import { findOnDemand } from "../plugin/on-demand.ts";

/** A first-party channel that is not installed here. */
export interface Absent {
  /** Name that people use. */
  readonly called: string;
  readonly package: string;
  /** Its size where it is known, or why it is a package of its own. */
  readonly note: string;
}

/** The package of a channel that is first-party and not installed; undefined for one that is, and for a name that nothing here knows. */
export function absentChannel(cli: Cli, channel: string): Absent | undefined {
  if ([...firstParty(), ...added(cli.file)].some(({ manifest }) => manifest.kind === "channel" && calledAs(manifest) === channel)) return undefined;
  const apart = APART[channel];
  const released = findOnDemand(channel, "channel");
  const name = apart?.name ?? released?.package;
  if (name === undefined) return undefined;
  const size = released === undefined ? "" : `, ${(released.bytes / 1e6).toFixed(1)} MB and the libraries that it needs`;
  return {
    called: released?.product === undefined ? channel : `${released.product} (${channel})`,
    package: name,
    note: apart === undefined ? size : `${size}; it is a package of its own, because ${apart.because}`,
  };
}

/**
 * Installs a channel as `svc plugin add` does, after a confirmation or with `yes`, and has a running daemon load it by a restart. Its output is for
 * people: the calling command prints the result.
 */
export async function install(cli: Cli, { called, package: name, note }: Absent, yes: boolean): Promise<void> {
  cli.say(`${called} is not installed. It is the package ${name}${note}.`);
  const { add } = await import("../plugin/add.js");
  // One result a command: print that of the installation as progress.
  const quiet: Cli = { ...cli, print: (human) => (cli.json ? undefined : cli.say(human)) };
  await add(quiet, name, { yes });
  const running = await cli.request("GET", "/health").then(
    () => true,
    () => false,
  );
  if (!running) return;
  const { restart } = await import("../daemon/restart.js");
  cli.say("The daemon restarts, so that it loads what was installed; running work may finish first.");
  const answer = await restart(cli, { by: process.env.USER ?? "svc connect", reason: `${name} was installed` });
  if ("pid" in answer) return;
  const at = new Date(answer.at).toLocaleString();
  throw fail("SVC_CLI_TASK_FAILED", { reason: `${name} is installed, and the restart that loads it is held until ${at}; run svc connect again after it` });
}
