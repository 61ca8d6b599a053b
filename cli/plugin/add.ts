import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Observed, Pin } from "@svc/kernel";
import { describeVerdict } from "../change.ts";
import { type Cli, outliveReader } from "../cli.ts";
import { fail } from "../errors.ts";
import { offlineCode } from "../kernel-code.ts";
import { isAlive } from "../upgrade/mark.ts";
import { requireYes } from "./ask.ts";
import { bundleIn, PLATFORM } from "./bundle.ts";
import { requireOwnId, requireOwnNames } from "./clash.ts";
import { type DependencyRoot, openRoot } from "./dependency-root.ts";
import { describeChange, describeDeclared, describeDrift, describeObserved, hasGrown } from "./describe.ts";
import { changeEntries, isIsolated } from "./entries.ts";
import { declaredOf, look } from "./look.ts";
import type { PackageSource } from "./npm.ts";
import { requireReleased, specOf } from "./on-demand.ts";
import { changingTree, filesOf, pin } from "./pinned.ts";
import { sampleText } from "./sample.ts";
import { isPath, namingTrouble, packageSubject, type Subject, subjectAt } from "./subject.ts";

type Options = Readonly<Record<string, unknown>>;

/**
 * Adds a plugin: fetches it aside, shows its manifest, and only after a confirmation runs its code, behind walls, to verify that it does no more;
 * then installs it, pins it and adds it to svc.json.
 */
export async function add(cli: Cli, word: string, options: Options): Promise<void> {
  if (word.startsWith("-")) throw fail("SVC_CLI_USAGE", { reason: `'${word}' is no package and no path` });
  if (isPath(word)) return addPath(cli, word, options);
  const spec = specOf(word);
  await aside(cli, /\.(tgz|tar\.gz)$/.test(spec) ? resolve(spec) : spec, async (fetched) => {
    const bundle = bundleIn(fetched.root.folderOf(fetched.name));
    if (bundle === undefined) return install(cli, fetched, options);
    if (bundle.platform !== PLATFORM) cli.say(`warning: the bundle was made on ${bundle.platform}, this is ${PLATFORM}`);
    for (const plugin of bundle.plugins) await aside(cli, plugin, (one) => install(cli, one, options), bundle.source);
  });
}

/** A package that npm has fetched into a folder of its own. */
export interface Fetched {
  readonly name: string;
  /** Package spec for the installation: an exact version if the registry recorded one. */
  readonly spec: string;
  readonly root: DependencyRoot;
  /** Source of the package instead of the registry. */
  readonly source: PackageSource | undefined;
}

/** Fetches a package into a temporary folder for `work`. No install script runs: the operator has not agreed yet. */
export async function aside<T>(cli: Cli, spec: string, work: (fetched: Fetched) => Promise<T>, source?: PackageSource): Promise<T> {
  mkdirSync(cli.dataFolder, { recursive: true, mode: 0o700 });
  sweep(cli.dataFolder);
  const root = openRoot(mkdtempSync(join(cli.dataFolder, `${STAGING}${process.pid}-`)));
  try {
    await root.install(spec, { scripts: false, source });
    const [name, recorded] = Object.entries(root.packages())[0] ?? [];
    if (name === undefined || recorded === undefined) throw fail("SVC_CLI_NPM", { what: "install", reason: `it installed nothing for ${spec}` });
    return await work({ name, spec: /^\d/.test(recorded) ? `${name}@${recorded}` : spec, root, source });
  } finally {
    rmSync(root.folder, { recursive: true, force: true });
  }
}

const STAGING = "staging-";

/** Removes the folders of fetches that were ended in the middle, as by Ctrl-C: each holds a whole tree of packages, and would be in each backup. */
function sweep(dataFolder: string): void {
  for (const name of readdirSync(dataFolder)) {
    const pid = name.startsWith(STAGING) ? /^(\d+)-/.exec(name.slice(STAGING.length))?.[1] : undefined;
    if (pid !== undefined && !isAlive(Number(pid))) rmSync(join(dataFolder, name), { recursive: true, force: true });
  }
}

async function addPath(cli: Cli, word: string, options: Options): Promise<void> {
  const found = subjectAt(cli, word);
  const subject = { ...found, isolated: options.isolate === true || (await isIsolated(cli, found.entry)) };
  const observed = await consent(cli, subject, options, `Let ${subject.entry} run in ${placeOf(subject)}?`);
  await enlist(cli, subject, observed, ["It is not pinned: its files may change, as its author's do."]);
}

/** Installs the fetched package, after a confirmation. `willing`: only new rights need one. */
export async function install(cli: Cli, { name, spec, root: staging, source }: Fetched, options: Options, willing = false): Promise<void> {
  const { readManifest, readPins } = offlineCode();
  const isolated = options.isolate === true || (await isIsolated(cli, name));
  const staged = { ...packageSubject(name, staging.folderOf(name)), isolated };
  if (staged.pkg !== undefined) requireReleased(staging.folder, name, staged.pkg.version);
  if (staged.pkg?.svc === undefined) throw fail("SVC_CLI_PLUGIN_LOOK", { plugin: name, reason: 'its package.json has no "svc" member, so it is no plugin' });
  const trouble = namingTrouble(staged.pkg);
  if (trouble !== undefined) cli.say(`warning: ${trouble}`);
  const { integrity: seen } = await filesOf(staging.folderOf(name));
  const pins = await readPins(cli.dataFolder);
  const before = Object.hasOwn(pins, name) ? (pins[name] as Pin) : undefined;
  const known = openRoot(cli.dataFolder);
  const old = before === undefined ? undefined : attempt(() => readManifest(known.folderOf(name), "package"));
  const what = `Install ${name} ${staged.pkg.version} and let it run in ${placeOf(staged)}?`;
  const observed = await consent(cli, staged, options, what, { before, old, seen, willing });
  const moved = await changingTree(cli, async (root) => {
    await root.install(spec, { scripts: options.allowScripts === true, source });
    const files = await filesOf(root.folderOf(name));
    if (files.integrity !== seen && options.allowScripts !== true) {
      if (before === undefined) await root.uninstall(name);
      throw fail("SVC_CLI_PLUGIN_LOOK", { plugin: name, reason: "what was installed is not what was looked at a moment ago; it is not trusted" });
    }
    await pin(cli, name, observed, files);
  });
  await enlist(cli, { ...packageSubject(name, known.folderOf(name)), isolated }, observed, [
    `${name} ${observed.version} is installed and pinned.`,
    ...moved.filter((other) => other !== name).map((other) => `npm changed what ${other} depends on with it; that is pinned anew.`),
  ]);
}

interface Earlier {
  readonly before?: Pin | undefined;
  /** The manifest that is installed. */
  readonly old?: Awaited<ReturnType<typeof declaredOf>> | undefined;
  readonly seen: string;
  readonly willing: boolean;
}

/**
 * Shows the manifest and asks for consent; only then runs the plugin's code, confined. If the manifest does not list its registrations, asks again
 * once they are known.
 */
async function consent(cli: Cli, subject: Subject, options: Options, question: string, earlier?: Earlier): Promise<Observed> {
  // What is asked about is shown before the work: a reader that has seen enough must not end it.
  outliveReader();
  const declared = await declaredOf(subject);
  await requireOwnId(cli, subject, declared);
  const { isolated = false } = subject;
  const says = declared.manifest?.registers !== undefined;
  const changed = earlier?.old === undefined ? [] : describeChange(earlier.old, declared);
  show(cli, [describeDeclared(declared, isolated), ...since(changed)]);
  const mayAsk = earlier?.willing !== true;
  if (mayAsk || hasGrown(changed))
    await requireYes(cli, says ? question : `Run the setup of ${subject.entry} once, behind walls, to see what it registers?`, options);
  const observed = await look(cli, subject);
  await requireOwnNames(cli, subject, observed);
  const drift = earlier?.before === undefined ? [] : describeDrift(earlier.before, observed, earlier.seen);
  if (!says || drift.length > 0) show(cli, [describeObserved(observed, isolated), ...since(drift)]);
  if (!says && (mayAsk || hasGrown(drift))) await requireYes(cli, question, options);
  return observed;
}

const since = (drift: readonly string[]): string[] => (drift.length === 0 ? [] : ["  since it was trusted:", ...drift.map((line) => `    ${line}`)]);

/** Adds it to svc.json and prints the remaining steps. */
async function enlist(cli: Cli, { entry, folder, isolated = false }: Subject, observed: Observed, done: readonly string[]): Promise<void> {
  const verdict = await changeEntries(cli, { add: entry, isolated });
  const next = verdict === undefined ? "svc.json names it already; a restart takes the new files: svc daemon restart" : describeVerdict(verdict);
  const { openFile } = await import("../change.js");
  const has = observed.section !== undefined && (await openFile(cli)).get(observed.section, true) !== undefined;
  const sample = folder === undefined || has ? undefined : sampleText(folder);
  cli.print(
    [
      ...done,
      next,
      ...(sample === undefined || observed.section === undefined ? [] : [`After the restart, give it its section (${observed.section}); its sample:`, sample]),
    ].join("\n"),
    { entry, ...observed, ...(isolated ? { isolated } : {}), ...verdict },
  );
}

const placeOf = ({ isolated }: Pick<Subject, "isolated">): string => (isolated ? "a process of its own" : "the daemon");

const show = (cli: Cli, lines: readonly string[]): void => {
  if (!cli.json) cli.print(lines.join("\n"), undefined);
};

function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
