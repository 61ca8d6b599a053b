import type { Cli } from "../cli.ts";
import { requireYes } from "./ask.ts";
import { describeDrift, describeObserved } from "./describe.ts";
import { isIsolated } from "./entries.ts";
import { look } from "./look.ts";
import { installedSubject, type Subject, subjectOf } from "./subject.ts";

/** Show how an installed plugin differs from what was trusted, and after a yes trust it as it is now. */
export async function trust(cli: Cli, word: string, options: Readonly<Record<string, unknown>>): Promise<void> {
  const { integrityOf, readPins, writePins } = await import("@svc/kernel");
  const found = installedSubject(cli, word) as Subject & { readonly folder: string };
  const subject = { ...found, isolated: await isIsolated(cli, found.entry) };
  const integrity = await integrityOf(subject.folder);
  const pins = await readPins(cli.dataFolder).catch(() => ({}) as Awaited<ReturnType<typeof readPins>>);
  const before = Object.hasOwn(pins, subject.entry) ? pins[subject.entry] : undefined;
  const observed = await look(subject);
  const drift = before === undefined ? [] : describeDrift(before, observed, integrity);
  if (before !== undefined && drift.length === 0) {
    cli.print(`${subject.entry} is what was trusted on ${before.trustedAt}.`, { entry: subject.entry, drift });
    return;
  }
  if (!cli.json) cli.print([describeObserved(observed, subject.isolated), ...drift.map((line) => `    ${line}`)].join("\n"), undefined);
  await requireYes(cli, `Trust ${subject.entry} as it is now?`, options);
  const { id, version, capabilities, registers } = observed;
  await writePins(cli.dataFolder, { ...pins, [subject.entry]: { id, version, integrity, capabilities, registers, trustedAt: new Date().toISOString() } });
  cli.print(`${subject.entry} ${version} is trusted. It runs after a restart: svc daemon stop, svc daemon start`, {
    entry: subject.entry,
    drift,
    trusted: true,
  });
}

/** Show what a plugin declares and really registers. Its code runs in a process of its own with an empty environment. */
export async function inspect(cli: Cli, word: string): Promise<void> {
  const subject = subjectOf(cli, word);
  const isolated = await isIsolated(cli, subject.entry);
  const observed = await look({ ...subject, isolated });
  cli.print(describeObserved(observed, isolated), { ...observed, ...(isolated ? { isolated } : {}) });
}
