import { codeOf, reasonOf } from "./errors.ts";
import type { Confined } from "./files.ts";
import { type Doc, put, type Store } from "./store.ts";

type MaybePromise<T> = T | Promise<T>;

/** A folder whose files are the same on all daemons that use the store. Names are paths below it. */
export interface FolderToShare {
  /**
   * The files that are there, each with a mark that changes with it; undefined where the folder itself is not there. `held`: it is neither
   * handed to the others nor written.
   */
  list(): Promise<readonly { readonly name: string; readonly mark: string; readonly held?: boolean }[] | undefined>;
  /** Undefined where there is no such file. */
  read(name: string): Promise<string | undefined>;
  /** Read, edit and write as one; an `edit` that answers undefined leaves the file as it is. */
  change(name: string, edit: (before: string | undefined) => MaybePromise<string | undefined>): Promise<void>;
  remove(name: string): Promise<void>;
  /** Puts a text aside that lost to another daemon's, under a name that is not in `list`; answers how people find it. */
  setAside(name: string, text: string): Promise<string>;
}

/** What `shareFiles` stands on. */
export interface SharedFilesOptions {
  readonly store: Pick<Store, "collection" | "commit">;
  /** The collection of the files. */
  readonly collection: string;
  readonly folder: FolderToShare;
  /** The plugin's own folder: what was last the same is noted there, in a file named like the collection. */
  readonly own: Confined;
  /** `node.id`: who wrote a file last. */
  readonly node: string;
  /** Whether a name from the store may be written here. */
  fits(name: string): boolean;
  /** Both sides had changed: the other's counts, and the own text lies in `aside`. */
  conflict(told: { readonly name: string; readonly by: string; readonly aside: string }): void;
  /** A file could not be compared; told once until it could. */
  failed(name: string, reason: string): void;
}

/** Files that several daemons keep the same. */
export interface SharedFiles {
  /** Looks once: takes what changed in the store, hands over what changed here. Answers whether files were written here. One look at a time. */
  sync(): Promise<boolean>;
  /**
   * Changes a file here and in the store as one. Throws `SVC_STORE_CONFLICT` where another daemon was first; nothing is written then, and the
   * next `sync` takes what that one wrote.
   */
  change(name: string, edit: (before: string | undefined) => MaybePromise<string | undefined>): Promise<void>;
  /** Removes a file here and in the store. Throws as `change` does. */
  remove(name: string): Promise<void>;
}

/** A file as the store has it. What was removed keeps its last text. */
interface Row {
  readonly text: string;
  readonly removed?: true;
  readonly by: string;
}

/** A file when it was last the same on both sides; `hash` is empty where there was none. */
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
 * Keeps the files of a folder and the documents of a collection the same; people go on editing files, on whichever machine. Each file has the
 * version of its document: a change made from an older one does not overwrite a newer one. Where both sides have changed, the store's counts
 * and the other text is set aside. A folder that is gone is filled again; only a file that is gone from a folder that is there is removed
 * everywhere. A store whose version of a file is older than what was the same before, such as one from a backup, counts as changed, too.
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

  /** Stores what a file is now, if nobody has changed it since `was`. */
  async function publish(name: string, text: string | undefined, was: Same): Promise<void> {
    const last = text ?? theirs.get(name)?.text ?? "";
    const row: Row = { text: last, ...(text === undefined ? { removed: true as const } : {}), by: node };
    await store.commit([put(collection, name, row, was.version === 0 ? "absent" : was.version), put(collection, CHANGES, { text: "", by: node })]);
    (await known()).set(name, { version: was.version + 1, hash: text === undefined ? "" : await hashOf(text) });
  }

  /** Writes what the store has, unless the file has changed since it was read. */
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
        // Another daemon was first: the next look sees what it wrote.
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

/** What was last the same on both sides, in a file. */
function noteIn(own: Confined, file: string) {
  let same: Map<string, Same> | undefined;
  let noted = "";
  async function known(): Promise<Map<string, Same>> {
    if (same !== undefined) return same;
    try {
      noted = new TextDecoder().decode(await own.read(file, NOTE_BYTES));
      same = new Map(Object.entries(JSON.parse(noted) as Record<string, Same>));
    } catch (error) {
      // Without the note each file that differs counts as changed on both sides: none is lost.
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
