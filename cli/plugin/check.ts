import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Observed } from "@svc/kernel";
import { firstParty } from "../catalog.ts";
import type { Cli } from "../cli.ts";
import { describeObserved } from "./describe.ts";
import { leaksOf, look, pathOf, suiteOf, tortureOf } from "./look.ts";
import { subjectNamed } from "./named.ts";
import { readmeTrouble } from "./readme.ts";
import { conformanceOf, sampleOf } from "./sample.ts";
import { namingTrouble, type PackageFacts, type Subject } from "./subject.ts";
import type { SuiteReport } from "./suite.ts";

interface Checked {
  readonly name: string;
  readonly ok: boolean;
  readonly detail?: string;
}

/** Everything a plugin must pass before it is published: its package, a dry run, fifty loads and unloads, its own contract suite, torture. */
export async function check(cli: Cli, word: string, { quick = false }: { readonly quick?: boolean } = {}): Promise<void> {
  const subject = await subjectNamed(cli, word);
  const results: Checked[] = [...(subject.folder === undefined ? [] : checkPackage(subject.folder, subject.pkg as PackageFacts))];
  let seen: Observed | undefined;
  const dry = await attempt(cli, "loads, and sets up without doing anything", async () => {
    seen = await look(cli, subject);
    return describeObserved(seen);
  });
  results.push(dry);
  if (seen !== undefined) {
    if (subject.folder !== undefined) results.push(checkVersion(seen));
    const sample = sampleOf(subject);
    results.push(await checkLeaks(cli, subject, sample.section));
    if (subject.folder !== undefined) results.push(await checkSuite(cli, subject));
    if (!quick) results.push(await checkTorture(cli, subject, sample.section), await checkBeside(cli, subject, seen, sample.whole));
  }
  const lines = results.map(
    ({ name, ok, detail }) => `${ok ? "ok     " : "FAILED "} ${name}${detail === undefined ? "" : `\n${detail.replace(/^/gm, "          ")}`}`,
  );
  const failed = results.filter(({ ok }) => !ok).length;
  cli.print(
    [
      ...lines,
      failed === 0
        ? quick
          ? "So far it is fit to be published; without --quick it is tortured, too."
          : "It is fit to be published."
        : `${failed} of ${results.length} checks failed.`,
    ].join("\n"),
    results,
  );
  if (failed > 0) process.exitCode = 1;
}

function checkPackage(folder: string, pkg: PackageFacts): Checked[] {
  const trouble = namingTrouble(pkg);
  const entry = pkg.svc?.entry ?? "";
  const wrongs: [name: string, wrong: string | false | undefined][] = [
    ["is called as plugins are, with the keyword", trouble],
    [
      "has a manifest whose entry is built",
      pkg.svc === undefined ? 'package.json has no "svc" member' : !existsSync(join(folder, entry)) && `${entry} is not there; build it`,
    ],
    ["asks for the sdk as a peer, and not for the kernel", peerTrouble(pkg)],
    ["has a README and a licence", !(existsSync(join(folder, "README.md")) && existsSync(join(folder, "LICENSE"))) && "README.md or LICENSE is missing"],
    ["has a README of its own that shows the sample", readmeTrouble(folder)],
    ["shows a sample of its section", pkg.svc?.section !== undefined && !existsSync(join(folder, "sample.json")) && "sample.json is missing"],
  ];
  return wrongs.map(([name, wrong]) => (typeof wrong === "string" ? { name, ok: false, detail: wrong } : { name, ok: true }));
}

/** People see the version in package.json; embedding programs see the one in the code. */
function checkVersion({ version, codeVersion }: Observed): Checked {
  const name = "calls itself by one version";
  return codeVersion === undefined ? { name, ok: true } : { name, ok: false, detail: `package.json says ${version}, definePlugin ${codeVersion}` };
}

function peerTrouble({ dependencies = {}, peerDependencies = {} }: PackageFacts): string | undefined {
  if (dependencies["@svc/kernel"] !== undefined) return "a plugin must not depend on @svc/kernel";
  if (dependencies["@svc/sdk"] !== undefined) return "@svc/sdk belongs into peerDependencies: the daemon brings its own";
  return peerDependencies["@svc/sdk"] === undefined ? "peerDependencies lacks @svc/sdk" : undefined;
}

function checkLeaks(cli: Cli, subject: Subject, section: unknown): Promise<Checked> {
  return attempt(cli, "leaves nothing open after fifty loads and unloads", async () => {
    const { rounds, left, unstarted, unstopped } = await leaksOf(subject, section);
    const kinds = Object.entries(left).map(([kind, count]) => `${count} ${kind}`);
    const notes = [
      ...(unstarted === 0 ? [] : [`its start did not succeed within 200 ms in ${unstarted} of ${rounds} rounds: without its platform only the rest was seen`]),
      ...(unstopped === 0 ? [] : [`its stop failed or took longer than 200 ms in ${unstopped} of ${rounds} rounds`]),
    ];
    const ran = `it ran with sample.json and this machine's network${notes.map((note) => `; ${note}`).join("")}`;
    if (kinds.length > 0) throw new Error(`after ${rounds} rounds there are more open: ${kinds.join(", ")} (${ran})`);
    return notes.length === 0 ? undefined : `(${ran})`;
  });
}

async function checkSuite(cli: Cli, subject: Subject): Promise<Checked> {
  const module = conformanceOf(subject);
  if (module === undefined) return { name: "exports a conformance module", ok: false, detail: "see the chapter on testing in the README of @svc/sdk" };
  return attempt(cli, "has a conformance module that runs", async () => allPassed((await suiteOf(subject, module)).tests));
}

function checkTorture(cli: Cli, subject: Subject, section: unknown): Promise<Checked> {
  return attempt(cli, "withstands hostile words, far ends, stops and sections", async () => allPassed((await tortureOf(subject, section)).tests));
}

/** In real daemons, among plugins that do everything wrong. */
function checkBeside(cli: Cli, subject: Subject, { id, section }: Observed, sample: Readonly<Record<string, unknown>>): Promise<Checked> {
  return attempt(cli, "goes on working beside bad plugins, in a daemon that they bring down", async () => {
    const switched = subject.pkg?.svc?.activate === "enabled" && section !== undefined ? { section } : {};
    const { runBeside } = await import("./beside.js");
    const ours = firstParty().some(({ manifest }) => `${manifest.kind}-${manifest.name}` === id);
    const { with: bad, alone } = await runBeside({ id, sample, ...switched, ...(ours ? {} : { path: pathOf(subject) }) });
    const note = alone === "running" ? "" : `\n(alone it is ${alone}: only that was compared)`;
    return `${bad.length} bad plugins: ${bad.join("; ")}${note}`;
  });
}

/** Says which tests ran. Throws with the reason of each that failed. */
function allPassed(tests: SuiteReport["tests"]): string {
  if (tests.length === 0) throw new Error("it defines no tests");
  const failed = tests.filter(({ error }) => error !== undefined);
  if (failed.length > 0) throw new Error(failed.map(({ name, error }) => `${name}: ${error}`).join("\n"));
  return `${tests.length} tests passed: ${tests.map(({ name }) => name).join("; ")}`;
}

/** On a terminal the name stands there while it works. */
async function attempt(cli: Cli, name: string, work: () => Promise<string | undefined>): Promise<Checked> {
  const shown = cli.terminal && process.stderr.isTTY;
  if (shown) process.stderr.write(`${name} ...`);
  try {
    const detail = await work();
    return { name, ok: true, ...(detail === undefined ? {} : { detail }) };
  } catch (error) {
    return { name, ok: false, detail: (error as Error).message };
  } finally {
    if (shown) process.stderr.write("\r\u001b[K");
  }
}
