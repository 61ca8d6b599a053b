import { existsSync, lstatSync, readFileSync } from "node:fs";
import { cp, mkdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { Cli } from "../cli.ts";
import { coded, fail } from "../errors.ts";
import { CONFIG, CONTENTS, type Contents, ENVIRONMENT, STATE } from "./take-backup.ts";

/** What was put back, and where what stood there before is kept. */
export interface Restored extends Contents {
  readonly kept: readonly string[];
}

/**
 * Puts a backup in the place of this folder's state, configuration and `.env`. What stood there is kept beside it under another name.
 * Throws `SVC_CLI_BACKUP` for a folder that is no whole backup or whose database is damaged, and `SVC_DAEMON_RUNNING` while a daemon
 * holds the folder; then nothing was changed.
 */
export async function restoreBackup(cli: Cli, from: string): Promise<Restored> {
  const folder = resolve(from);
  const contents = readContents(folder);
  const [{ lockHolder }, { storeFor }] = await Promise.all([import("@svc/kernel"), import("../store.js")]);
  const holder = lockHolder(cli.dataFolder);
  if (holder !== undefined) throw coded("SVC_DAEMON_RUNNING", `A daemon (pid ${holder.pid}) holds ${cli.dataFolder}. Stop it first: svc daemon stop`);
  const state = join(folder, STATE);
  const store = await storeFor({ file: join(folder, CONFIG), dataFolder: state });
  const [problem] = (await store.check?.({ folder: state }))?.problems ?? [];
  if (problem !== undefined) throw fail("SVC_CLI_BACKUP", { folder, reason: `its database is damaged: ${problem}` });

  // Copied aside first: a disk that is full or a copy that breaks off changes nothing.
  const suffix = `before-restore-${new Date().toISOString().replace(/[:.]/g, "-")}`;
  const moves = [
    { copy: join(folder, STATE), place: cli.dataFolder },
    { copy: join(folder, CONFIG), place: cli.file },
    { copy: join(folder, ENVIRONMENT), place: join(cli.folder, ".env") },
  ]
    .filter(({ copy }) => existsSync(copy))
    .map((move) => ({ ...move, fresh: join(dirname(move.place), `${basename(move.place)}.restoring`) }));
  await mkdir(cli.folder, { recursive: true });
  try {
    for (const { copy, fresh } of moves) {
      await rm(fresh, { recursive: true, force: true });
      await cp(copy, fresh, { recursive: true, preserveTimestamps: true });
    }
  } catch (error) {
    for (const { fresh } of moves) await rm(fresh, { recursive: true, force: true });
    throw error;
  }
  const kept: string[] = [];
  for (const { place, fresh } of moves) {
    if (existsSync(place)) {
      await rename(place, `${place}.${suffix}`);
      kept.push(`${place}.${suffix}`);
    }
    await rename(fresh, place);
  }
  return { ...contents, kept };
}

function readContents(folder: string): Contents {
  let contents: Contents;
  try {
    contents = JSON.parse(readFileSync(join(folder, CONTENTS), "utf8"));
  } catch {
    throw fail("SVC_CLI_BACKUP", { folder, reason: `it has no ${CONTENTS}, so it is no backup or not a whole one` });
  }
  if (typeof contents.takenAt !== "string" || !existsSync(join(folder, STATE)))
    throw fail("SVC_CLI_BACKUP", { folder, reason: `its ${CONTENTS} or its folder ${STATE} is not what svc backup writes` });
  // A link would take the place of the data folder or the configuration, and lead anywhere.
  const link = [dirname(STATE), STATE, CONFIG, ENVIRONMENT].find((name) => lstatSync(join(folder, name), { throwIfNoEntry: false })?.isSymbolicLink());
  if (link !== undefined) throw fail("SVC_CLI_BACKUP", { folder, reason: `its ${link} is a link, which svc backup never writes` });
  return contents;
}
