import { createHash, type Hash } from "node:crypto";
import { existsSync, mkdirSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join, resolve } from "node:path";
import { codeOf, type ProvidedStore, type StoreDriver, type StoreRecord, sleep } from "@svc/sdk";
import type { Cli } from "../cli.ts";
import { fail } from "../errors.ts";
import { storeFor } from "../store.ts";

/** The default store, by the name that people give it. */
const DEFAULT = "sqlite";
const TOLD_EVERY = 50_000;
/** Longer than a store keeps the lease of a killed daemon. */
const LEASE_MS = 8_000;
const LOOK_MS = 250;

/** Result of a copy: its source, its target, and the number of records. */
export interface CopiedState {
  readonly from: string;
  readonly to: string;
  readonly records: number;
  /** SHA-256 over the content of all names: the same in both stores. */
  readonly hash: string;
}

/**
 * Copies the state from the store of the configuration `from`, or from `sqlite`, into the store of this folder, which must be empty; then reads and
 * compares both. A copy that was interrupted between its last write and the comparison is only compared. No daemon may run on either store. Throws
 * `SVC_CLI_USAGE`, `SVC_CLI_EXISTS`, `SVC_CLI_TASK_FAILED`.
 */
export async function copyState(cli: Cli, from: string): Promise<CopiedState> {
  mkdirSync(cli.dataFolder, { recursive: true, mode: 0o700 });
  // Without a configuration the default store is used, which needs none.
  const file = from === DEFAULT ? join(cli.dataFolder, "no-configuration.json") : resolve(from);
  const beside = join(dirname(file), ".svc");
  const other = from === DEFAULT || !existsSync(beside) ? cli.dataFolder : beside;
  const source = await storeFor({ file, dataFolder: other });
  const target = await storeFor(cli);
  if (source.name === target.name && (from === DEFAULT || dirname(file) === cli.folder))
    throw fail("SVC_CLI_USAGE", { reason: `${cli.file} asks for the store ${target.name}, too: change it to the new store first, then copy from the old one` });
  const folders = [...new Set([cli.dataFolder, other])];
  const release = await lockAll(folders);
  try {
    const both: readonly Opened[] = [
      { store: source, folder: other },
      { store: target, folder: cli.dataFolder },
    ];
    await noDaemon(both);
    const copy = await between(both[0] as Opened, both[1] as Opened, cli);
    await noDaemon(both);
    return { from: source.name, to: target.name, ...copy };
  } finally {
    release();
  }
}

interface Opened {
  readonly store: ProvidedStore;
  readonly folder: string;
}

/** Locks these data folders; resolves with the function that releases them. */
async function lockAll(folders: readonly string[]): Promise<() => void> {
  const { tryLock } = await import("@svc/kernel/folder");
  const held: { release(): void }[] = [];
  const release = () => {
    for (const lock of held) lock.release();
  };
  for (const folder of folders) {
    const lock = tryLock(join(folder, "daemon.lock"));
    if ("holder" in lock) {
      release();
      throw fail("SVC_CLI_USAGE", { reason: `a daemon (pid ${lock.holder.pid}) runs on ${folder}; stop it first with: svc daemon stop` });
    }
    held.push(lock);
  }
  return release;
}

/**
 * Daemons of other machines use a store without the lock of a folder here. One that was killed counts until its lease has run out, which is
 * waited for; one that begins in the middle of a copy is found after it.
 */
async function noDaemon(both: readonly Opened[]): Promise<void> {
  const until = performance.now() + LEASE_MS;
  for (const { store, folder } of both) {
    for (;;) {
      const nodes = (await store.nodes?.({ folder })) ?? [];
      const living = nodes.find(({ state, host, pid }) => (state === "alive" || state === "draining") && !(host === hostname() && pid === process.pid));
      if (living === undefined) break;
      if (performance.now() > until) {
        const reason = `the daemon ${living.name} on ${living.host} uses the store ${store.name}`;
        throw fail("SVC_CLI_USAGE", {
          reason: `${reason}: end it there with svc daemon stop, then copy into an empty store; what was copied by now is not to be used`,
        });
      }
      await sleep(LOOK_MS);
    }
  }
}

async function between(from: Opened, to: Opened, cli: Pick<Cli, "say">): Promise<Pick<CopiedState, "records" | "hash">> {
  const open = ({ store, folder }: Opened) => store.open({ folder, now: Date.now });
  const old = await open(from);
  try {
    const next = await open(to);
    try {
      return await copied(old, next, cli);
    } finally {
      await next.close?.();
    }
  } finally {
    await old.close?.();
  }
}

async function copied(old: StoreDriver, next: StoreDriver, cli: Pick<Cli, "say">): Promise<Pick<CopiedState, "records" | "hash">> {
  const all = (driver: StoreDriver) => {
    if (driver.records === undefined || driver.restore === undefined) throw fail("SVC_CLI_USAGE", { reason: "one of the two stores cannot be copied" });
    return driver.records();
  };
  all(next);
  cli.say("Copying...");
  let taken = false;
  try {
    await next.restore?.(counted(all(old), (count) => cli.say(`${count} records`)));
  } catch (error) {
    if (codeOf(error) !== "SVC_STORE_CONFLICT") throw error;
    taken = true;
  }
  cli.say("Comparing both...");
  const [one, other] = [await summary(all(old)), await summary(all(next))];
  const different = [...new Set([...one.keys(), ...other.keys()])].filter((name) => one.get(name)?.hash !== other.get(name)?.hash);
  if (different.length > 0 && taken)
    throw fail("SVC_CLI_EXISTS", {
      what: "State in the store that is copied into",
      next: "copy into an empty one: another store.schema, or a data folder without svc.db",
    });
  if (different.length > 0)
    throw fail("SVC_CLI_TASK_FAILED", {
      reason: `The copy differs from what it was made of in ${different.join(", ")}: do not use it. The old state is as it was.`,
    });
  const records = [...one.values()].reduce((sum, { count }) => sum + count, 0);
  const hash = createHash("sha256").update(JSON.stringify([...one].toSorted(([a], [b]) => (a < b ? -1 : 1))));
  return { records, hash: hash.digest("hex") };
}

async function* counted(records: AsyncIterable<StoreRecord>, tell: (count: number) => void): AsyncGenerator<StoreRecord> {
  let count = 0;
  for await (const record of records) {
    yield record;
    count += 1;
    if (count % TOLD_EVERY === 0) tell(count);
  }
}

/** Returns, by kind and name, the number of records and the hash of their content, in order. Volatile times are excluded. */
async function summary(records: AsyncIterable<StoreRecord>): Promise<ReadonlyMap<string, { readonly count: number; readonly hash: string }>> {
  const hashes = new Map<string, { count: number; readonly hash: Hash }>();
  for await (const record of records) {
    const content = contentOf(record);
    if (content === undefined) continue;
    const name = `${record.kind} ${record.name}`;
    const entry = hashes.get(name) ?? { count: 0, hash: createHash("sha256") };
    entry.count += 1;
    entry.hash.update(`${JSON.stringify(content)}\n`);
    hashes.set(name, entry);
  }
  return new Map([...hashes].map(([name, { count, hash }]) => [name, { count, hash: hash.digest("hex") }]));
}

function contentOf(record: StoreRecord): readonly unknown[] | undefined {
  switch (record.kind) {
    case "document":
      return [record.key, record.version, record.value];
    case "item":
      return [record.id, record.group, record.leased, record.redelivered, record.attempt, record.value];
    case "seen":
      return [record.key];
    case "journal":
      return [record.last];
    case "entry":
      return [record.seq, record.at, record.value];
    default:
      // One store knows of a collection without documents, another may not.
      return undefined;
  }
}
