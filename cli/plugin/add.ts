import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Observed } from "@svc/kernel";
import { describeVerdict } from "../change.ts";
import type { Cli } from "../cli.ts";
import { fail } from "../errors.ts";
import { requireYes } from "./ask.ts";
import { type DependencyRoot, openRoot } from "./dependency-root.ts";
import { describeDrift, describeObserved } from "./describe.ts";
import { changeEntries, isIsolated } from "./entries.ts";
import { look } from "./look.ts";
import { sampleText } from "./sample.ts";
import { isPath, namingTrouble, packageSubject, type Subject, subjectAt } from "./subject.ts";

/** Add a plugin: fetch it aside, show what it does, and only after a yes install it, pin it and name it in svc.json. */
export async function add(cli: Cli, word: string, options: Readonly<Record<string, unknown>>): Promise<void> {
  if (word.startsWith("-")) throw fail("SVC_CLI_USAGE", { reason: `'${word}' is no package and no path` });
  if (isPath(word)) return addPath(cli, word, options);
  mkdirSync(cli.dataFolder, { recursive: true, mode: 0o700 });
  const staging = openRoot(mkdtempSync(join(cli.dataFolder, "staging-")));
  try {
    await addPackage(cli, staging, /\.(tgz|tar\.gz)$/.test(word) ? resolve(word) : word, options);
  } finally {
    rmSync(staging.folder, { recursive: true, force: true });
  }
}

async function addPath(cli: Cli, word: string, options: Readonly<Record<string, unknown>>): Promise<void> {
  const found = subjectAt(cli, word);
  const subject = { ...found, isolated: options.isolate === true || (await isIsolated(cli, found.entry)) };
  const observed = await look(subject);
  show(cli, describeObserved(observed, subject.isolated));
  await requireYes(cli, `Let ${subject.entry} run in ${placeOf(subject)}?`, options);
  await enlist(cli, subject, observed, "It is not pinned: its files may change, as its author's do.");
}

async function addPackage(cli: Cli, staging: DependencyRoot, spec: string, options: Readonly<Record<string, unknown>>): Promise<void> {
  const { integrityOf, readPins, writePins } = await import("@svc/kernel");
  const scripts = options.allowScripts === true;
  await staging.install(spec, { scripts });
  const [name, recorded] = Object.entries(staging.packages())[0] ?? [];
  if (name === undefined || recorded === undefined) throw fail("SVC_CLI_NPM", { what: "install", reason: `it installed nothing for ${spec}` });
  const isolated = options.isolate === true || (await isIsolated(cli, name));
  const staged = { ...packageSubject(name, staging.folderOf(name)), isolated };
  if (staged.pkg?.svc === undefined) throw fail("SVC_CLI_PLUGIN_LOOK", { plugin: name, reason: 'its package.json has no "svc" member, so it is no plugin' });
  const trouble = namingTrouble(staged.pkg);
  if (trouble !== undefined) cli.say(`warning: ${trouble}`);
  const observed = await look(staged);
  const seen = await integrityOf(staging.folderOf(name));
  const pins = await readPins(cli.dataFolder);
  const before = Object.hasOwn(pins, name) ? pins[name] : undefined;
  show(
    cli,
    [
      describeObserved(observed, isolated),
      ...(before === undefined ? [] : ["  since it was trusted:", ...describeDrift(before, observed, seen).map((line) => `    ${line}`)]),
    ].join("\n"),
  );
  await requireYes(cli, `Install ${name} ${observed.version} and let it run in ${placeOf(staged)}?`, options);

  const root = openRoot(cli.dataFolder);
  // A version that the registry recorded is fetched again by that version: what was looked at is what is installed.
  await root.install(/^\d/.test(recorded) ? `${name}@${recorded}` : spec, { scripts });
  const integrity = await integrityOf(root.folderOf(name));
  if (integrity !== seen && !scripts) {
    if (before === undefined) await root.uninstall(name);
    throw fail("SVC_CLI_PLUGIN_LOOK", { plugin: name, reason: "what was installed is not what was looked at a moment ago; it is not trusted" });
  }
  const { id, version, capabilities, registers } = observed;
  await writePins(cli.dataFolder, { ...pins, [name]: { id, version, integrity, capabilities, registers, trustedAt: new Date().toISOString() } });
  await enlist(cli, { ...packageSubject(name, root.folderOf(name)), isolated }, observed, `${name} ${version} is installed and pinned.`);
}

/** Name it in svc.json and say what is left to do. */
async function enlist(cli: Cli, { entry, folder, isolated = false }: Subject, observed: Observed, done: string): Promise<void> {
  const verdict = await changeEntries(cli, { add: entry, isolated });
  const next = verdict === undefined ? "svc.json names it already; a restart takes the new files: svc daemon stop, svc daemon start" : describeVerdict(verdict);
  const sample = folder === undefined ? undefined : sampleText(folder);
  cli.print(
    [
      done,
      next,
      ...(sample === undefined || observed.section === undefined ? [] : [`After the restart, give it its section (${observed.section}); its sample:`, sample]),
    ].join("\n"),
    { entry, ...observed, ...(isolated ? { isolated } : {}), ...verdict },
  );
}

const placeOf = ({ isolated }: Pick<Subject, "isolated">): string => (isolated ? "a process of its own" : "the daemon");

const show = (cli: Cli, text: string): void => {
  if (!cli.json) cli.print(text, undefined);
};
