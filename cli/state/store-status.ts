import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type StoreMigrated, type StoreNode, type StoreStatus, settingDifferences } from "@svc/sdk";
import type { Cli } from "../cli.ts";
import { fail } from "../errors.ts";
import { storeFor } from "../store.ts";
import { table } from "../table.ts";

/** Output of `svc db status`, also with `--json`. */
export interface ToldStatus extends Omit<StoreStatus, "version" | "nodes"> {
  readonly store: string;
  readonly version: number | null;
  /** The process that has the data folder of this configuration. */
  readonly daemon?: { readonly pid: number };
  readonly nodes: readonly StoreNode[];
}

/** Reads the status of this folder's store, also while its daemon runs. Throws `SVC_CLI_MISSING` for a store without one. */
export async function statusOf(cli: Cli): Promise<ToldStatus> {
  const store = await storeFor(cli);
  if (store.status === undefined) throw fail("SVC_CLI_MISSING", { what: `status of the store ${store.name}`, next: "svc doctor" });
  const { version = null, nodes = [], ...found } = await store.status({ folder: cli.dataFolder });
  const { lockHolder } = await import("@svc/kernel/folder");
  const holder = lockHolder(cli.dataFolder);
  return { store: store.name, version, ...found, nodes, ...(holder === undefined ? {} : { daemon: { pid: holder.pid } }) };
}

/** As people read it. */
export function statusText(told: ToldStatus): string {
  const { version, known, waiting } = told;
  const settings = Object.entries(told.settings).map(([name, value]) => [`  ${name}`, String(value)]);
  const rows = Object.entries(told.rows).map(([name, count]) => [`  ${name}`, String(count)]);
  const running = told.daemon === undefined ? "no daemon has this data folder" : `the daemon of this data folder runs (pid ${told.daemon.pid})`;
  return [
    `Store ${told.store}: ${told.file}, ${(told.bytes / 1_048_576).toFixed(1)} MiB; ${running}`,
    schemaLine(version, known, waiting, told.daemon !== undefined),
    ...waiting.map((line) => `  ${line}`),
    "Settings:",
    table(settings),
    ...(rows.length === 0 ? [] : ["Rows:", table(rows)]),
    ...(told.nodes.length === 0 ? [] : ["Daemons:", nodesTable(told.nodes)]),
  ].join("\n");
}

function schemaLine(version: number | null, known: number, waiting: readonly string[], running: boolean): string {
  if (version === null) return "Nothing is stored there yet; the first start makes it, or: svc db migrate";
  if (version > known) return `Schema ${version}, of a newer program: this one knows ${known}. Start the newer program; migrations only go forward.`;
  if (waiting.length === 0) return `Schema ${version}, as this program needs it.`;
  return `Schema ${version} of ${known}; the next start of this program runs what follows, or: ${running ? "svc daemon stop && " : ""}svc db migrate`;
}

/** Clocks of machines that differ less from that of the store are in step. */
const SKEW_MS = 2_000;

/** Formats runs of daemons, one a line; then their problems, and the settings in which they differ. */
export function nodesTable(nodes: readonly StoreNode[]): string {
  const lines = nodes.map(({ name, boot, host, pid, state, beatMs, skewMs = 0, running, about }) => [
    name,
    String(boot),
    `${host}${pid === undefined ? "" : `, pid ${pid}`}`,
    about?.version ?? "",
    state,
    running === undefined ? "" : String(running),
    `${(beatMs / 1_000).toFixed(0)} s`,
    Math.abs(skewMs) > SKEW_MS ? `${(Math.abs(skewMs) / 1_000).toFixed(0)} s ${skewMs > 0 ? "ahead" : "behind"}` : "",
  ]);
  const living = nodes.filter(({ state }) => state !== "dead");
  return [
    table([["NAME", "BOOT", "WHERE", "VERSION", "STATE", "RUNNING", "LAST BEAT", "CLOCK"], ...lines]),
    ...living.flatMap(({ name, about }) => (about?.troubles ?? []).map((trouble) => `${name}: ${trouble}`)),
    ...settingDifferences(living).map(({ path, groups }) => {
      const sides = groups.map(({ nodes: names, set }) => `${names.join(", ")}${set ? "" : " (not set)"}`);
      return `The setting ${path} differs: ${sides.join(" | ")}`;
    }),
  ].join("\n");
}

/** Brings the store of this folder to this program's version. Throws `SVC_DAEMON_RUNNING` while a daemon has the folder. */
export async function migrateStore(cli: Cli): Promise<StoreMigrated & { readonly store: string }> {
  const { tryLock } = await import("@svc/kernel/folder");
  const store = await storeFor(cli);
  mkdirSync(cli.dataFolder, { recursive: true, mode: 0o700 });
  const lock = tryLock(join(cli.dataFolder, "daemon.lock"));
  if ("holder" in lock) {
    const next = "stop it first with: svc daemon stop; then repeat this, or start the new program, which migrates by itself";
    throw Object.assign(fail("SVC_CLI_USAGE", { reason: `a daemon (pid ${lock.holder.pid}) uses this state; ${next}` }), { code: "SVC_DAEMON_RUNNING" });
  }
  try {
    if (store.migrate === undefined) throw fail("SVC_CLI_MISSING", { what: `migration of the store ${store.name} beside its start`, next: "svc daemon start" });
    return { store: store.name, ...(await store.migrate({ folder: cli.dataFolder })) };
  } finally {
    lock.release();
  }
}
