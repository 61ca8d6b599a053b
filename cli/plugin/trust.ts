import { firstParty } from "../catalog.ts";
import type { Cli } from "../cli.ts";
import { offlineCode } from "../kernel-code.ts";
import { requireYes } from "./ask.ts";
import { describeDeclared, describeDrift, describeObserved } from "./describe.ts";
import { isIsolated } from "./entries.ts";
import { declaredOf, look } from "./look.ts";
import { subjectNamed } from "./named.ts";
import { filesOf, pin } from "./pinned.ts";
import { installedSubject, type Subject } from "./subject.ts";

/** Shows how an installed plugin differs from its pin, and after a confirmation pins its current state. */
export async function trust(cli: Cli, word: string, options: Readonly<Record<string, unknown>>): Promise<void> {
  const { changedDependencies, readPins } = offlineCode();
  const found = installedSubject(cli, word) as Subject & { readonly folder: string };
  const subject = { ...found, isolated: await isIsolated(cli, found.entry) };
  const files = await filesOf(subject.folder);
  const pins = await readPins(cli.dataFolder).catch(() => ({}) as Awaited<ReturnType<typeof readPins>>);
  const before = Object.hasOwn(pins, subject.entry) ? pins[subject.entry] : undefined;
  if (!cli.json) cli.print(describeDeclared(await declaredOf(subject), subject.isolated), undefined);
  const observed = await look(cli, subject);
  const drift =
    before === undefined
      ? []
      : [
          ...describeDrift(before, observed, files.integrity, changedDependencies(before.dependencies, files.dependencies)),
          // A pin of an earlier version of svc, which covered only the plugin's own files.
          ...(before.dependencies === undefined ? ["files      of its dependencies were not looked at when it was trusted"] : []),
        ];
  if (before !== undefined && drift.length === 0) {
    cli.print(`${subject.entry} is what was trusted on ${before.trustedAt}.`, { entry: subject.entry, drift });
    return;
  }
  if (!cli.json) cli.print([describeObserved(observed, subject.isolated), ...drift.map((line) => `    ${line}`)].join("\n"), undefined);
  await requireYes(cli, `Trust ${subject.entry} as it is now?`, options);
  await pin(cli, subject.entry, observed, files);
  cli.print(`${subject.entry} ${observed.version} is trusted. It runs after a restart: svc daemon restart`, {
    entry: subject.entry,
    drift,
    trusted: true,
  });
}

/** Shows a plugin's declarations and actual registrations. Its code runs behind walls, in a process of its own. */
export async function inspect(cli: Cli, word: string): Promise<void> {
  const ours = firstParty().find(({ manifest: { kind, name } }) => [`${kind}-${name}`, `@svc/${kind}-${name}`].includes(word));
  const subject: Subject = ours === undefined ? await subjectNamed(cli, word) : { kind: "package", entry: word, folder: ours.folder };
  const isolated = await isIsolated(cli, subject.entry);
  const observed = await look(cli, { ...subject, isolated });
  cli.print(describeObserved(observed, isolated), { ...observed, ...(isolated ? { isolated } : {}) });
}
