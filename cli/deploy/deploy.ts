import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { openFile } from "../change.ts";
import type { Cli } from "../cli.ts";
import { fail } from "../errors.ts";
import { EXIT } from "../exit.ts";
import { quantity } from "../quantity.ts";
import { checkWay, runFar, type Way } from "./far.ts";
import type { Look } from "./far-side.ts";
import type { Order, Outcome } from "./order.ts";
import { type Archive, packProgram, type Release } from "./pack.ts";
import { choose, literalsIn, type Settings } from "./sent-settings.ts";

/** Result for one machine. */
interface Result {
  readonly target: string;
  readonly release: string;
  readonly outcome: Outcome["outcome"] | "planned" | "failed";
  readonly [fact: string]: unknown;
}

const MB = 1_048_576;

/**
 * Deploys the running program and a configuration to each target, one after the other, and activates it. Stops at the first failure; the exit code
 * identifies its kind.
 */
export async function deploy(cli: Cli, targets: readonly string[], options: Readonly<Record<string, unknown>>): Promise<void> {
  const ways = await Promise.all(targets.map((target) => wayTo(cli, target, options)));
  for (const way of ways) checkWay(way);
  const settings = await readSettings(cli, options);
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as { version: string };
  cli.say("Packing the program ...");
  const release = await packProgram(version);
  const results: Result[] = [];
  try {
    cli.say(`${release.name}: ${quantity(release.packages, "package")}, ${quantity(release.files, "file")}, ${mb(release.unpackedBytes)}`);
    for (const [index, way] of ways.entries()) {
      const result = await deployTo(cli, way, release, settings, options).catch((error) => failed(way.host, release, error));
      results.push(result);
      if (["up", "planned"].includes(result.outcome)) continue;
      const left = ways.slice(index + 1).map(({ host }) => host);
      if (left.length > 0) cli.say(`Not tried after that: ${left.join(", ")}`);
      break;
    }
  } finally {
    release.remove();
  }
  cli.print(results.map(describe).join("\n"), results);
  process.exitCode = Number(results.at(-1)?.exit ?? EXIT.ok);
}

const failed = (target: string, release: Release, error: unknown): Result => ({
  target,
  release: release.name,
  outcome: "failed",
  reason: (error as Error).message.replace(`${target}: `, ""),
  exit: (error as { exit?: number }).exit ?? EXIT.failed,
});

async function deployTo(cli: Cli, way: Way, release: Release, settings: Settings, options: Readonly<Record<string, unknown>>): Promise<Result> {
  const say = (text: string) => cli.say(`${way.host}: ${text}`);
  const folder = String(options.folder ?? "svc");
  const look = await lookAt(way, folder, release);
  requireAlike(way, look, release);
  const chosen = choose(settings, look);
  say(`Node ${look.node}, ${look.folder}, ${look.current === undefined ? "nothing deployed yet" : `current is ${look.current}`}; ${chosen.words}`);
  if (look.deploying !== undefined) throw refused(way, `another deployment works there (pid ${look.deploying})`, EXIT.running);
  const archive = look.there ? undefined : await release.archive();
  const need = release.unpackedBytes + (archive?.bytes ?? 0);
  if (archive !== undefined && look.freeBytes < need)
    throw refused(way, `${mb(look.freeBytes)} are free in ${look.folder}, and ${mb(need)} are needed`, EXIT.storage);
  if (options.dryRun === true) return planned(way, look, release, archive, chosen.words);
  if (archive === undefined) say(`${release.name} is there already`);
  else {
    say(`sending ${mb(archive.bytes)} ...`);
    const errand = { do: "receive", folder, release: release.name, sha256: archive.sha256, bytes: archive.bytes } as const;
    await runFar(way, errand, { onLine: () => {}, body: archive.file });
  }
  const order: Order = {
    folder: look.folder,
    release: release.name,
    ...(chosen.config === undefined ? {} : { config: chosen.config }),
    ...(settings.env === undefined ? {} : { env: settings.env }),
    by: String(options.by ?? process.env.USER ?? "svc daemon deploy"),
    reason: String(options.reason ?? `deployment of ${release.name}`),
    waitSeconds: Number(options.wait ?? 60),
    keep: Number(options.keep ?? 3),
  };
  const outcome = await activate(way, order, say);
  return { target: way.host, exit: exitOf(outcome), ...outcome, release: release.name };
}

async function lookAt(way: Way, folder: string, release: Release): Promise<Look> {
  let look: Look | undefined;
  await runFar(way, { do: "look", folder, release: release.name }, { onLine: (told) => void (look = told.look as Look | undefined) });
  if (look === undefined) throw fail("SVC_CLI_DEPLOY", { target: way.host, reason: "the far side said nothing" });
  return look;
}

/** A release runs on the kind of machine that it was made on. */
function requireAlike(way: Way, look: Look, { native }: Release): void {
  const alike = look.platform === process.platform && look.arch === process.arch && look.abi === process.versions.modules;
  if (!native || alike) return;
  const [there, here] = [`${look.platform} ${look.arch} with Node ${look.node}`, `${process.platform} ${process.arch} with Node ${process.version}`];
  throw refused(way, `it is ${there}, and this program has parts compiled for ${here}; deploy from a machine like it, or install the same Node there`);
}

/** `held` and `up` come as lines while the far side still works. */
async function activate(way: Way, order: Order, say: (text: string) => void): Promise<Outcome> {
  let outcome: Outcome | undefined;
  // A held restart may be a day away: do not keep the connection open for it.
  const told = new AbortController();
  const held = new Promise<Outcome>((resolve, reject) => {
    const onLine = (line: Readonly<Record<string, unknown>>) => {
      if (typeof line.step === "string") say(line.step);
      if (typeof line.outcome !== "string") return;
      outcome = line as unknown as Outcome;
      if (outcome.outcome !== "held") return;
      resolve(outcome);
      told.abort();
    };
    const errand = { do: "activate", folder: order.folder, release: order.release, order } as const;
    let foreign = "";
    runFar(way, errand, { onLine, onText: (line) => void (foreign ||= line), signal: told.signal }).then(
      () => {
        if (outcome !== undefined) resolve(outcome);
        else
          reject(
            fail("SVC_CLI_DEPLOY", { target: way.host, reason: `the new release does not run there: ${foreign || "it said nothing"}. What ran there runs on` }),
          );
      },
      (error) =>
        reject(
          Object.assign(
            fail("SVC_CLI_DEPLOY", {
              target: way.host,
              reason: `${error.message.replace(`${way.host}: `, "")}. The far side ends what it began by itself; deploy again to hear how that went`,
            }),
            { exit: EXIT.running },
          ),
        ),
    );
  });
  return held;
}

function exitOf(outcome: Outcome): number {
  if (outcome.outcome === "up") return EXIT.ok;
  if (outcome.outcome === "held") return EXIT.running;
  if (outcome.outcome === "back") return EXIT.failed;
  return { busy: EXIT.running, foreign: EXIT.running, config: EXIT.config, failed: EXIT.failed }[outcome.kind];
}

const planned = (way: Way, look: Look, release: Release, archive: Archive | undefined, settings: string): Result => ({
  target: way.host,
  release: release.name,
  outcome: "planned",
  folder: look.folder,
  node: look.node,
  ...(look.current === undefined ? {} : { current: look.current }),
  send: archive?.bytes ?? 0,
  settings,
  ...(look.last === undefined ? {} : { last: look.last }),
});

function describe(result: Result): string {
  const { target, release, outcome, reason, former } = result;
  const was = former === undefined ? "" : `, was ${former}`;
  if (outcome === "up") return `${target}: ${release} is up (pid ${result.pid}, http://${result.address}${was}).`;
  if (outcome === "held")
    return `${target}: ${release} is in place; its restart is held until ${result.at}, and the far side goes back by itself if it fails then.`;
  if (outcome === "back")
    return result.back === true
      ? `${target}: ${release} did not come up: ${reason}\n${former} is back and runs.`
      : `${target}: ${release} did not come up: ${reason}\n${former === undefined ? "There was no daemon before." : `${former} is in its place again and did not come up either: look there with svc daemon logs.`}`;
  if (outcome === "planned") {
    const size = result.send === 0 ? "it is there already, nothing is sent" : `${mb(Number(result.send))} would be sent`;
    const now = result.current === undefined ? "nothing is deployed yet" : `current is ${result.current}`;
    return `${target}: ${release} to ${result.folder} (${now}); ${size}; ${result.settings}. Nothing was changed.`;
  }
  return `${target}: not deployed: ${reason}`;
}

async function wayTo(cli: Cli, target: string, options: Readonly<Record<string, unknown>>): Promise<Way> {
  return {
    host: peerHost(cli, target) ?? target,
    ...(options.port === undefined ? {} : { port: Number(options.port) }),
    ...(options.sshConfig === undefined ? {} : { sshConfig: resolve(String(options.sshConfig)) }),
    ...(options.node === undefined ? {} : { node: String(options.node) }),
  };
}

/** Returns the host in the address of the peer of that name. Undefined if svc.json has no such peer. */
function peerHost(cli: Cli, target: string): string | undefined {
  if (target.includes("@") || !existsSync(cli.file)) return undefined;
  try {
    const { mesh } = JSON.parse(readFileSync(cli.file, "utf8").replace(/^\uFEFF/, "")) as { mesh?: { peers?: { name?: string; url?: string }[] } };
    const url = mesh?.peers?.find(({ name }) => name === target)?.url;
    return url === undefined ? undefined : new URL(url).hostname.replace(/^\[|\]$/g, "");
  } catch {
    return undefined;
  }
}

async function readSettings(cli: Cli, options: Readonly<Record<string, unknown>>): Promise<Settings> {
  if (options.keepSettings === true && options.settings !== undefined)
    throw fail("SVC_CLI_USAGE", { reason: "--settings and --keep-settings exclude each other" });
  const withEnv = options.withEnv === true;
  const file = options.settings === undefined ? cli.file : resolve(String(options.settings));
  const envFile = join(dirname(file), ".env");
  const env = withEnv && existsSync(envFile) ? { env: readFileSync(envFile, "utf8") } : {};
  if (options.keepSettings === true) return { how: "keep", ...env };
  if (!existsSync(file)) throw fail("SVC_CLI_NO_CONFIG", { file });
  const literal = withEnv ? [] : literalsIn((await openFile({ file, dataFolder: cli.dataFolder })).document());
  if (literal.length > 0)
    throw fail("SVC_CLI_USAGE", {
      reason: `${file} holds credentials (${literal.slice(0, 3).join(", ")}${literal.length > 3 ? ` and ${literal.length - 3} more` : ""}). Name variables of .env in their place, as \${NAME}, or send them with --with-env`,
    });
  return { how: options.settings === undefined ? "own" : "given", config: readFileSync(file, "utf8"), file, ...env };
}

const refused = (way: Way, reason: string, exit: number = EXIT.failed) => Object.assign(fail("SVC_CLI_DEPLOY", { target: way.host, reason }), { exit });

const mb = (bytes: number): string => `${(bytes / MB).toFixed(1)} MB`;
