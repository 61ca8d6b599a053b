import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { fail } from "../errors.ts";
import { npm } from "../plugin/npm.ts";
import { isAlive } from "./mark.ts";

/** An installation by `npm install -g`: npm keeps a package there in one folder, with all that it depends on. */
export interface Installation {
  /** Where `@svc/cli` lies. */
  readonly folder: string;
  readonly version: string;
}

/** Name of the package that is installed. */
export const PACKAGE = "@svc/cli";

/** Folder of the former installation within the running one: removing one removes both. */
export const FORMER = ".former";

/** Returns the installation that this program runs from. Throws `SVC_CLI_UPGRADE` if it cannot be replaced by a release. */
export function ownInstallation(): Installation {
  const folder = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
  const isGlobal = basename(dirname(folder)) === "@svc" && basename(dirname(dirname(folder))) === "node_modules" && existsSync(join(folder, "node_modules"));
  if (!isGlobal) {
    const reason = `this program runs from ${folder}, which is no installation by npm install -g ${PACKAGE}; bring that to another version the way it came there`;
    throw fail("SVC_CLI_UPGRADE", { reason });
  }
  return { folder, version: versionIn(folder) };
}

/** Returns the installation from before the last upgrade, if it was kept. */
export function formerOf({ folder }: Installation): Installation | undefined {
  const former = join(folder, FORMER);
  return existsSync(former) ? { folder: former, version: versionIn(former) } : undefined;
}

/** Installs a release beside it, on the same disk, for `work`; the rest is removed afterwards. */
export async function installAside<T>({ folder }: Installation, spec: string, work: (next: Installation) => Promise<T>): Promise<T> {
  const prefix = mkdtempSync(join(dirname(folder), `.upgrade-${process.pid}-`));
  try {
    await npm(prefix, ["install", "--global", "--prefix", prefix, "--no-audit", "--no-fund", "--no-update-notifier", "--", spec]);
    const next = join(prefix, "lib/node_modules", PACKAGE);
    return await work({ folder: next, version: versionIn(next) });
  } finally {
    rmSync(prefix, { recursive: true, force: true });
  }
}

/** Replaces the installation by `next`, and keeps it as the former one. Two renames on one disk: an error leaves the old state. */
export function putInPlace({ folder }: Installation, next: Installation): void {
  const leaving = mkdtempSync(join(dirname(folder), `.leaving-${process.pid}-`));
  const away = join(leaving, "cli");
  try {
    // `next` may lie inside the replaced one.
    const coming = join(leaving, "next");
    renameSync(next.folder, coming);
    renameSync(folder, away);
    try {
      renameSync(coming, folder);
    } catch (error) {
      renameSync(away, folder);
      throw error;
    }
    for (const older of [folder, away]) rmSync(join(older, FORMER), { recursive: true, force: true });
    renameSync(away, join(folder, FORMER));
  } finally {
    // Where nothing could be put back, both lie in there.
    if (existsSync(folder)) rmSync(leaving, { recursive: true, force: true });
  }
}

/**
 * Removes what upgrades have left beside the installation whose process was killed; the release from before, where one had not come to keep it yet,
 * becomes the former one.
 */
export function sweepKilled({ folder }: Installation): void {
  const beside = dirname(folder);
  for (const name of readdirSync(beside)) {
    const [, pid] = /^\.(?:upgrade|leaving)-(\d+)-/.exec(name) ?? [];
    if (pid === undefined || isAlive(Number(pid))) continue;
    const left = join(beside, name, "cli");
    const former = join(folder, FORMER);
    if (existsSync(left) && !existsSync(former)) {
      rmSync(join(left, FORMER), { recursive: true, force: true });
      renameSync(left, former);
    }
    rmSync(join(beside, name), { recursive: true, force: true });
  }
}

/** The program of an installation, for `node`. */
export const programOf = ({ folder }: Installation): string => join(folder, "bin/svc.cjs");

const versionIn = (folder: string): string => (JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { version: string }).version;
