import { codeOf, reasonOf } from "./errors.ts";
import type { Confined } from "./files.ts";
import { type Doc, put, type Store } from "./store.ts";

type MaybePromise<T> = T | Promise<T>;

/** A folder whose files are the same on all daemons that use the store. Names are paths below it. */
export interface FolderToShare {
  /**
   * The existing files, each with a `mark` that changes with the content; undefined if the folder itself does not exist. `held`: the file is neither
   * uploaded nor overwritten.
   */
  list(): Promise<readonly { readonly name: string; readonly mark: string; readonly held?: boolean }[] | undefined>;
  /** Undefined if the file does not exist. */
  read(name: string): Promise<string | undefined>;
  /** Reads, edits and writes under a lock; an `edit` that returns undefined leaves the file unchanged. */
  change(name: string, edit: (before: string | undefined) => MaybePromise<string | undefined>): Promise<void>;
  remove(name: string): Promise<void>;
  /** Puts a text aside that lost to another daemon's, under a name that is not in `list`; answers how people find it. */
  setAside(name: string, text: string): Promise<string>;
}

/** Dependencies and callbacks of `shareFiles`. */
export interface SharedFilesOptions {
  readonly store: Pick<Store, "collection" | "commit">;
  /** The collection of the files. */
  readonly collection: string;
  readonly folder: FolderToShare;
  /** The plugin's own folder: the last common state is stored there, in a file named like the collection. */
  readonly own: Confined;
  /** `node.id`: recorded as the last writer of a file. */
  readonly node: string;
  /** Whether a name from the store may be written here. */
  fits(name: string): boolean;
  /** Both sides had changed: the other's counts, and the own text lies in `aside`. */
  conflict(told: { readonly name: string; readonly by: string; readonly aside: string }): void;
  /** Called when a file could not be compared; once until it can be compared again. */
  failed(name: string, reason: string): void;
}

/** Files that several daemons keep the same. */
export interface SharedFiles {
  /** Synchronises once: downloads changes of the store, uploads local ones. Resolves with whether local files were written. Not concurrent. */
  sync(): Promise<boolean>;
  /**
   * Changes a file here and in the store atomically. Throws `SVC_STORE_CONFLICT` if another daemon was first; nothing is written then, and the next
   * `sync` takes the other version.
   */
  change(name: string, edit: (before: string | undefined) => MaybePromise<string | undefined>): Promise<void>;
  /** Removes a file here and in the store. Throws as `change` does. */
  remove(name: string): Promise<void>;
}

/** A file as stored. A removed one keeps its last text. */
interface Row {
  readonly text: string;
  readonly removed?: true;
  readonly by: string;
}

/** Last common state of a file on both sides; `hash` is empty if the file did not exist. */
interface Same {
  readonly version: number;
  readonly hash: string;
}

interface Theirs extends Row {
  readonly version: number;
  readonly hash: string;
}

/** The document whose version grows with each change of any file. */
const CHANGES = "@changes";
const PAGE = 200;
const NOTE_BYTES = 4_194_304;
const NEVER: Same = { version: 0, hash: "" };

/**
 * Synchronises the files of a folder with the documents of a collection; people go on editing files, on any machine. Each file has the version of its
 * document: a change made from an older one does not overwrite a newer one. On a conflict, the store's version wins and the local text is set aside.
 * A missing folder is filled again; a file is removed everywhere only if it is missing from an existing folder. A store whose version of a file is
 * older than the last common one, such as one from a backup, counts as changed, too.
 */
export function shareFiles(options: SharedFilesOptions): SharedFiles {
  const { store, collection, folder, own, node } = options;
  const rows = store.collection<Row>(collection);
  const { known, note } = noteIn(own, `${collection}.json`);
  const failing = new Set<string>();
  let theirs: ReadonlyMap<string, Theirs> = new Map();
  let seen: number | undefined;
  let marks = new Map<string, { readonly mark: string; readonly hash: string }>();
  let last: Promise<unknown> = Promise.resolve();

  /** One after the other: a look never meets a change half done. */
  function queued<T>(work: () => Promise<T>): Promise<T> {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  }

  async function readTheirs(): Promise<void> {
    const { version } = (await rows.get(CHANGES)) ?? { version: 0 };
    if (version === seen) return;
    const found = new Map<string, Theirs>();
    for (let after: string | undefined; ; ) {
      const page: readonly Doc<Row>[] = await rows.list({ limit: PAGE, ...(after === undefined ? {} : { after }) });
      for (const { key, version: of, value } of page)
        if (key !== CHANGES && options.fits(key)) found.set(key, { ...value, version: of, hash: value.removed === true ? "" : await hashOf(value.text) });
      after = page.at(-1)?.key;
      if (page.length < PAGE) break;
    }
    theirs = found;
    seen = version;
  }

  /** Uploads the current file, if the store has not changed since `was`. */
  async function publish(name: string, text: string | undefined, was: Same): Promise<void> {
    const last = text ?? theirs.get(name)?.text ?? "";
    const row: Row = { text: last, ...(text === undefined ? { removed: true as const } : {}), by: node };
    await store.commit([put(collection, name, row, was.version === 0 ? "absent" : was.version), put(collection, CHANGES, { text: "", by: node })]);
    (await known()).set(name, { version: was.version + 1, hash: text === undefined ? "" : await hashOf(text) });
  }

  /** Writes the store's version, unless the local file has changed since it was read. */
  async function take(name: string, mine: string, their: Theirs): Promise<boolean> {
    let taken = false;
    if (their.removed === true) {
      taken = (await hashOf(await folder.read(name))) === mine;
      if (taken && mine !== "") await folder.remove(name);
    } else
      await folder.change(name, async (before) => {
        taken = (await hashOf(before)) === mine;
        return taken ? their.text : undefined;
      });
    if (taken) (await known()).set(name, { version: their.version, hash: their.hash });
    return taken;
  }

  /** Brings one file together. True when it was written here. */
  async function settle(name: string, mine: string, gone: boolean): Promise<boolean> {
    const their = theirs.get(name);
    const [version, hash] = [their?.version ?? 0, their?.hash ?? ""];
    const was = (await known()).get(name) ?? NEVER;
    if (mine === hash) {
      if (version !== was.version || hash !== was.hash) (await known()).set(name, { version, hash });
      return false;
    }
    if (their !== undefined && (gone || (mine === was.hash && version > was.version))) return take(name, mine, their);
    const text = await folder.read(name);
    if (version === was.version || their === undefined) {
      await publish(name, text, { ...was, version }).catch((error) => {
        // Another daemon was first: the next `sync` takes its version.
        if (codeOf(error) !== "SVC_STORE_CONFLICT") throw error;
      });
      return false;
    }
    if (text !== undefined) options.conflict({ name, by: their.by, aside: await folder.setAside(name, text) });
    return take(name, mine, their);
  }

  async function look(): Promise<boolean> {
    const found = await folder.list();
    await readTheirs();
    const fresh = new Map<string, { readonly mark: string; readonly hash: string }>();
    let written = false;
    for (const name of new Set([...(found ?? []).map((file) => file.name), ...theirs.keys(), ...(await known()).keys()])) {
      const file = found?.find((one) => one.name === name);
      if (file?.held === true) continue;
      try {
        const before = marks.get(name);
        const hash = file === undefined ? "" : before?.mark === file.mark ? before.hash : await hashOf(await folder.read(name));
        if (await settle(name, hash, found === undefined)) written = true;
        else if (file !== undefined) fresh.set(name, { mark: file.mark, hash });
        failing.delete(name);
      } catch (error) {
        if (codeOf(error)?.startsWith("SVC_STORE_") === true) throw error;
        if (!failing.has(name)) options.failed(name, reasonOf(error));
        failing.add(name);
      }
    }
    marks = fresh;
    await note();
    return written;
  }

  return {
    sync: () => queued(look),
    change: (name, edit) =>
      queued(async () => {
        await look();
        await folder.change(name, async (before) => {
          const text = await edit(before);
          if (text !== undefined) await publish(name, text, (await known()).get(name) ?? NEVER);
          return text;
        });
        await note();
      }),
    remove: (name) =>
      queued(async () => {
        await look();
        const was = (await known()).get(name);
        if (was !== undefined && was.hash !== "") await publish(name, undefined, was);
        await folder.remove(name);
        await note();
      }),
  };
}

/** File that stores the last common state of both sides. */
function noteIn(own: Confined, file: string) {
  let same: Map<string, Same> | undefined;
  let noted = "";
  async function known(): Promise<Map<string, Same>> {
    if (same !== undefined) return same;
    try {
      noted = new TextDecoder().decode(await own.read(file, NOTE_BYTES));
      same = new Map(Object.entries(JSON.parse(noted) as Record<string, Same>));
    } catch (error) {
      // Without it each file that differs counts as changed on both sides: no change is lost.
      if (codeOf(error) !== "SVC_FILE_MISSING" && !(error instanceof SyntaxError)) throw error;
      same = new Map();
    }
    return same;
  }
  async function note(): Promise<void> {
    const text = JSON.stringify(Object.fromEntries(await known()));
    if (text === noted) return;
    await own.write(file, text);
    noted = text;
  }
  return { known, note };
}

/** Empty for no text. */
async function hashOf(text: string | undefined): Promise<string> {
  if (text === undefined) return "";
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
