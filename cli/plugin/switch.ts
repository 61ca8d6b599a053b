import { firstParty } from "../catalog.ts";
import { describeVerdict, openFile } from "../change.ts";
import type { Cli } from "../cli.ts";
import { fail } from "../errors.ts";
import { changeEntries, isIsolated } from "./entries.ts";
import { subjectNamed } from "./named.ts";
import { idOf, type Subject } from "./subject.ts";

/** Location of the switch: `entry` in `plugins`, or `enabled` in `section`. */
interface Switched {
  readonly id: string;
  readonly entry?: string;
  readonly section?: string;
}

/**
 * Turn a plugin on or off. One whose section has a switch is turned there, at once; any other by `"!<id>"` in `plugins`, which keeps
 * its section valid and waits for a restart. `isolated`: from then on in a process of its own, or in the daemon's; unset leaves it.
 */
export async function turn(cli: Cli, word: string, on: boolean, isolated?: boolean): Promise<void> {
  const { id, entry, section } = await find(cli, word);
  if (isolated === true && entry === undefined) throw fail("SVC_CLI_USAGE", { reason: `${id} is part of this program and runs in the daemon` });
  const values = section === undefined || (!on && !(await present(cli, section))) ? {} : { [`${section}.enabled`]: String(on) };
  const verdict = on
    ? await changeEntries(cli, { drop: `!${id}`, ...(entry === undefined ? {} : { add: entry, ...(isolated === undefined ? {} : { isolated }) }), values })
    : await changeEntries(cli, Object.keys(values).length > 0 ? { values } : { add: `!${id}` });
  const state = on ? "on" : "off";
  cli.print(verdict === undefined ? `${id} is ${state} already.` : `${id} is switched ${state}. ${describeVerdict(verdict)}`, { id, on, ...verdict });
}

const present = async (cli: Cli, section: string): Promise<boolean> => (await openFile(cli)).get(section, true) !== undefined;

async function find(cli: Cli, word: string): Promise<Switched> {
  const known = firstParty().find(({ manifest }) => `${manifest.kind}-${manifest.name}` === word);
  if (known !== undefined) return { id: word, ...switchOf(known.manifest) };
  const subject: Subject = await subjectNamed(cli, word);
  const id = subject.folder === undefined ? undefined : idOf(subject.folder);
  // A single file has no manifest: only its code has its id.
  const found = id ?? (await (await import("./look.js")).look(cli, { ...subject, isolated: await isIsolated(cli, subject.entry) })).id;
  return {
    id: found,
    entry: subject.entry,
    ...(subject.pkg?.svc === undefined ? {} : switchOf(subject.pkg.svc)),
  };
}

const switchOf = ({ activate, section }: { readonly activate: string; readonly section?: string }): { section?: string } =>
  activate === "enabled" && section !== undefined ? { section } : {};
