import { closeSync, fsyncSync, openSync, renameSync, writeSync } from "node:fs";
import { chmod, mkdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { sleep } from "@svc/sdk";
import type { AuthenticationCreds, SignalDataSet, SignalDataTypeMap } from "@whiskeysockets/baileys";
import type { Vendor } from "../vendor.ts";
import { type FolderHolder, holdFolder } from "./folder-holder.ts";
import { type Journal, openJournal } from "./journal.ts";

/** The pairing of one number as it is kept: who we are, and the keys of every conversation. */
export interface Session {
  readonly folder: string;
  readonly creds: AuthenticationCreds;
  readonly keys: SessionKeys;
  /** Whether a message has been taken before, within the last two weeks at least. */
  wasTaken(name: string): boolean;
  /** The change that makes it so, to be written with the key that opened the message. */
  takenAs(name: string): SignalDataSet;
  /** The phone has linked this device. */
  readonly paired: boolean;
  /** Takes what has changed of the credentials; resolves when that is on disk. */
  saveCreds(): Promise<void>;
  /** The moment of pairing: on disk when it returns, before the phone hears that we have understood. */
  keepPaired(): void;
  /** Fresh credentials for a pairing, unless a phone is linked. */
  begin(): void;
  /** Puts the pairing into a folder beside it, named after this moment, and begins anew. Answers with that folder. */
  setAside(): Promise<string>;
  close(): Promise<void>;
}

/** The keys, as the vendor reads and writes them. Several kinds in one `set` are one change on disk. */
export interface SessionKeys {
  get<T extends keyof SignalDataTypeMap>(type: T, ids: string[]): Promise<{ [id: string]: SignalDataTypeMap[T] }>;
  set(data: SignalDataSet): Promise<void>;
}

const FILE = "session.journal";
const TAKEN = "taken";
/** As long as the platform keeps messages for a device that is away. */
const TAKEN_MS = 14 * 86_400_000;
/** The credentials of a pairing whose connection has not begun yet. */
const PAIRED_FILE = "paired.json";
const CREDS = "creds";

/** Retries of a write that the disk refuses. */
export interface Stubborn {
  /** Told when a write fails, with the reason, and with nothing when it went through after all. */
  trouble(reason: string | undefined): void;
  /** Ends the tries. */
  readonly signal: AbortSignal;
}

const AGAIN_MS = 1_000;

/**
 * Opens the session in `folder`, which is made for its owner alone, and keeps other processes out of it. A write that the disk refuses is tried
 * again until it succeeds: what waits for it is neither acknowledged nor sent meanwhile. Throws `SVC_PHONEMSG_SESSION_BUSY`.
 */
export async function openSession(folder: string, vendor: Pick<Vendor, "initAuthCreds" | "BufferJSON" | "proto">, stubborn: Stubborn): Promise<Session> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  const holder: FolderHolder = await holdFolder(folder);
  let journal: Journal;
  try {
    journal = await openJournal(join(folder, FILE));
  } catch (error) {
    await holder.release();
    throw error;
  }
  const { BufferJSON, initAuthCreds, proto } = vendor;
  const parse = (text: string): unknown => JSON.parse(text, BufferJSON.reviver);
  const pairedFile = join(folder, PAIRED_FILE);
  const paired = await readFile(pairedFile, "utf8").catch(() => undefined);
  let hasPairedFile = paired !== undefined;
  const stored = paired ?? journal.get(CREDS);
  let creds = stored === undefined ? initAuthCreds() : (parse(stored) as AuthenticationCreds);

  /** `changes` is asked at each try: what was learned meanwhile must not be undone by an older write. */
  async function write(changes: () => ReadonlyMap<string, string | undefined>): Promise<void> {
    for (let failed = false; ; failed = true) {
      try {
        await journal.set(changes());
        if (failed) stubborn.trouble(undefined);
        return;
      } catch (error) {
        if (stubborn.signal.aborted) throw error;
        const { code, message } = error as NodeJS.ErrnoException;
        stubborn.trouble(`the keys of the conversation cannot be written to ${folder} (${code ?? message}); nothing is taken or sent until they can`);
        await sleep(AGAIN_MS, stubborn.signal);
      }
    }
  }

  const ownKeys = () => new Map([[CREDS, JSON.stringify(creds, BufferJSON.replacer)]]);
  /** The credentials are in the journal now. */
  async function forgetPairedFile(): Promise<void> {
    if (!hasPairedFile) return;
    hasPairedFile = false;
    await rm(pairedFile, { force: true });
  }

  const keys: SessionKeys = {
    async get(type, ids) {
      const found: Record<string, unknown> = {};
      for (const id of ids) {
        const text = journal.get(`${type}/${id}`);
        if (text === undefined) continue;
        const value = parse(text);
        found[id] = type === "app-state-sync-key" ? proto.Message.AppStateSyncKeyData.fromObject(value as object) : value;
      }
      return found as never;
    },
    set: (data) => {
      const changes = new Map<string, string | undefined>();
      for (const [type, values] of Object.entries(data))
        for (const [id, value] of Object.entries(values ?? {})) {
          const text = value == null ? undefined : JSON.stringify(value, BufferJSON.replacer);
          if (journal.get(`${type}/${id}`) !== text) changes.set(`${type}/${id}`, text);
        }
      return write(() => changes);
    },
  };

  // A write that fails now waits for the next start: a full disk must not keep the channel from starting and reporting it.
  const old = [...journal.keys()].filter((key) => key.startsWith(`${TAKEN}/`) && Number(journal.get(key)) < Date.now() - TAKEN_MS);
  await journal.set(new Map(old.map((key) => [key, undefined]))).catch(() => {});
  if (hasPairedFile && isPaired(creds)) {
    await journal
      .set(ownKeys())
      .then(forgetPairedFile)
      .catch(() => {});
  }

  return {
    folder,
    get creds() {
      return creds;
    },
    keys,
    wasTaken: (name) => journal.get(`${TAKEN}/${name}`) !== undefined,
    takenAs: (name) => ({ [TAKEN]: { [name]: Date.now() } }) as never,
    get paired() {
      return isPaired(creds);
    },
    async saveCreds() {
      await write(ownKeys);
      await forgetPairedFile();
    },
    keepPaired() {
      hasPairedFile = true;
      writeNow(pairedFile, JSON.stringify(creds, BufferJSON.replacer));
    },
    begin() {
      if (!isPaired(creds)) creds = initAuthCreds();
    },
    async setAside() {
      const aside = `${folder}.unpaired-${new Date().toISOString().replace(/[:.]/g, "-")}`;
      await journal.close();
      await mkdir(aside, { recursive: true, mode: 0o700 });
      await rename(join(folder, FILE), join(aside, FILE));
      await rename(pairedFile, join(aside, PAIRED_FILE)).catch(() => {});
      journal = await openJournal(join(folder, FILE));
      creds = initAuthCreds();
      return aside;
    },
    async close() {
      await journal.close();
      await holder.release();
    },
  };
}

const isPaired = ({ account, me }: AuthenticationCreds): boolean => account !== undefined && account !== null && me !== undefined;

function writeNow(path: string, text: string): void {
  const next = `${path}.next`;
  const file = openSync(next, "w", 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(next, path);
}
