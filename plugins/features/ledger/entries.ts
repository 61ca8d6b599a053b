import { createHash } from "node:crypto";
import { type Collection, codeOf, type Doc, type Store, svcError } from "@svc/sdk";
import type { Matter } from "./topic-of.ts";

/** One row: who works on a subject of a project. Times in Unix milliseconds. */
export interface Entry extends Matter {
  /** The owning agent. */
  readonly agent: string;
  /** The root event and the task of the newest turn about it. */
  readonly root?: string;
  readonly task?: string;
  /** Since when that agent has it, and when it was last worked on. */
  readonly since: number;
  readonly at: number;
  readonly turns: number;
  /** The newest turn that another agent ran, and how many: in the mode `shadow` alone. */
  readonly other?: { readonly agent: string; readonly task: string; readonly at: number; readonly times: number };
  /** A person has said who has it. */
  readonly assignedBy?: string;
}

/** An entry with its version, for `expect`. */
export interface VersionedEntry extends Entry {
  readonly version: number;
}

/** A turn that works on something. */
export interface Work extends Matter {
  readonly agent: string;
  readonly root: string;
  readonly task: string;
}

/** Two writers at one row: each retry sees one write more, so that this many mean something else. */
const RETRIES = 50;

const keyOf = ({ project, subject }: Matter): string =>
  createHash("sha256")
    .update(JSON.stringify([project, subject]))
    .digest("hex");
const shown = ({ value, version }: Doc<Entry>): VersionedEntry => ({ ...value, version });

/** Throws the refusal of a write whose `expect` does not hold. */
const changed = (): Error =>
  svcError("SVC_LEDGER_CHANGED", "The entry has changed meanwhile; look at it again with svc ledger show, and give its version.", { status: 409 });

/** The rows. Each write compares the version that it has read: of two that claim one subject, one has it. */
export class Entries {
  readonly #rows: Collection<Entry>;
  readonly #now: () => number;

  constructor(store: Pick<Store, "collection">, now: () => number = Date.now) {
    this.#rows = store.collection<Entry>("entries", { indexes: ["project", "at"] });
    this.#now = now;
  }

  async get(matter: Matter): Promise<VersionedEntry | undefined> {
    const found = await this.#rows.get(keyOf(matter));
    return found === undefined ? undefined : shown(found);
  }

  /** The newest first, those of one project where it is named. */
  async list({
    project,
    after,
    limit,
  }: {
    readonly project?: string;
    readonly after?: string;
    readonly limit: number;
  }): Promise<readonly (VersionedEntry & { readonly id: string })[]> {
    const found = await this.#rows.list({
      ...(project === undefined ? {} : { where: { project } }),
      ...(after === undefined ? {} : { after }),
      by: "at",
      reverse: true,
      limit,
    });
    return found.map((doc) => ({ id: doc.key, ...shown(doc) }));
  }

  /** Notes a turn: the first one about a subject has it, and one of another agent leaves it with who has it. */
  async observe(work: Work): Promise<void> {
    await this.#change(work, (held) => {
      if (held === undefined) return this.#taken(work);
      if (held.agent === work.agent) return this.#worked(held, work);
      return { ...held, other: { agent: work.agent, task: work.task, at: this.#now(), times: (held.other?.times ?? 0) + 1 } };
    });
  }

  /**
   * Takes a subject for a turn, or finds that another agent has it: then nothing is written, and the answer is who. `mayTake` says whether
   * a holder has lost it.
   */
  async claim(work: Work, mayTake: (holder: string) => boolean): Promise<string | undefined> {
    let holder: string | undefined;
    await this.#change(work, (held) => {
      holder = undefined;
      if (held === undefined) return this.#taken(work);
      if (held.agent === work.agent) return this.#worked(held, work);
      if (mayTake(held.agent)) return this.#taken(work);
      holder = held.agent;
      return undefined;
    });
    return holder;
  }

  /** Assigns the subject to an agent, by a person. Throws `SVC_LEDGER_CHANGED` (409) if `expect` is another version; 0 means that it has no owner. */
  async assign(matter: Matter, agent: string, by: string, expect?: number): Promise<VersionedEntry> {
    const held = await this.#rows.get(keyOf(matter));
    const version = held?.version ?? 0;
    if (expect !== undefined && expect !== version) throw changed();
    const now = this.#now();
    const { other: _other, ...kept }: Omit<Entry, "agent" | "since"> = held?.value ?? { ...matter, at: now, turns: 0 };
    const entry: Entry = { ...kept, agent, since: now, at: now, assignedBy: by };
    return { ...entry, version: await this.#put(keyOf(matter), entry, version) };
  }

  /** Removes the owner. False if there was none. Throws `SVC_LEDGER_CHANGED` (409) if `expect` is another version. */
  async release(matter: Matter, expect?: number): Promise<boolean> {
    const held = await this.#rows.get(keyOf(matter));
    if (expect !== undefined && expect !== (held?.version ?? 0)) throw changed();
    if (held === undefined) return false;
    try {
      await this.#rows.delete(held.key, held.version);
    } catch (error) {
      throw codeOf(error) === "SVC_STORE_CONFLICT" ? changed() : error;
    }
    return true;
  }

  /** Deletes entries without work since that time. */
  async sweep(before: number): Promise<number> {
    let gone = 0;
    for (;;) {
      const old = await this.#rows.list({ by: "at", to: before, limit: 500 });
      for (const { key, version } of old) {
        // Worked on meanwhile: it stays.
        await this.#rows.delete(key, version).catch((error) => {
          if (codeOf(error) !== "SVC_STORE_CONFLICT") throw error;
        });
        gone += 1;
      }
      if (old.length < 500) return gone;
    }
  }

  async #change(matter: Matter, next: (held: Entry | undefined) => Entry | undefined): Promise<void> {
    const key = keyOf(matter);
    for (let retry = 0; ; retry += 1) {
      const held = await this.#rows.get(key);
      const entry = next(held?.value);
      if (entry === undefined) return;
      try {
        await this.#rows.put(key, entry, held?.version ?? "absent");
        return;
      } catch (error) {
        if (codeOf(error) !== "SVC_STORE_CONFLICT" || retry >= RETRIES) throw error;
      }
    }
  }

  async #put(key: string, entry: Entry, version: number): Promise<number> {
    try {
      return await this.#rows.put(key, entry, version === 0 ? "absent" : version);
    } catch (error) {
      throw codeOf(error) === "SVC_STORE_CONFLICT" ? changed() : error;
    }
  }

  #taken({ project, subject, agent, root, task }: Work): Entry {
    const now = this.#now();
    return { project, subject, agent, root, task, since: now, at: now, turns: 1 };
  }

  #worked(held: Entry, { root, task }: Work): Entry {
    // A turn that a restart repeats is one turn.
    return { ...held, root, task, at: this.#now(), turns: held.turns + (held.task === task ? 0 : 1) };
  }
}
