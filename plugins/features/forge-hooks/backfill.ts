import { type Forge, type ForgeList, type ForgeProject, type Op, put, reasonOf } from "@svc/sdk";
import type { Shared } from "./connection.ts";
import type { OwnComments } from "./own-comments.ts";
import { pushIncoming } from "./receiver.ts";
import { objectKey } from "./rows.ts";

/** Result of one poll for missed notes. */
export interface Found {
  readonly forge: string;
  readonly lists: number;
  readonly looked: number;
  /** Handed to the inbox: not seen before. */
  readonly taken: number;
  readonly failed: readonly string[];
}

/** A list may show a change that was made a moment before the newest one that it showed. */
const OVERLAP_MS = 120_000;
const BATCH = 50;

/** Looks for notes that no delivery told of: from where each list was read last, oldest first, by the same way as deliveries. */
export class Backfill {
  readonly #shared: Shared & { readonly comments: OwnComments };
  readonly #running = new Map<string, Promise<Found>>();

  constructor(shared: Shared & { readonly comments: OwnComments }) {
    this.#shared = shared;
  }

  /** One look a forge at a time; who asks meanwhile gets the answer of the one under way. */
  look(forge: Forge, quick: boolean): Promise<Found> {
    const known = this.#running.get(forge.name);
    if (known !== undefined) return known;
    const work = this.#look(forge, quick).finally(() => this.#running.delete(forge.name));
    this.#running.set(forge.name, work);
    return work;
  }

  async #look(forge: Forge, quick: boolean): Promise<Found> {
    const failed: string[] = [];
    const projects = await this.#projects(forge, failed);
    const chosen = quick && forge.lists.some((list) => list.quick) ? forge.lists.filter((list) => list.quick) : forge.lists;
    let [lists, looked, taken] = [0, 0, 0];
    for (const list of chosen) {
      for (const project of list.of === "project" ? projects : [undefined]) {
        if (this.#shared.ctx.signal.aborted || this.#shared.forges.get(forge.name) !== forge) break;
        try {
          const seen = await this.#list(forge, list, project);
          lists += 1;
          looked += seen.looked;
          taken += seen.taken;
        } catch (error) {
          failed.push(`${list.name}${project === undefined ? "" : ` of ${project.path}`}: ${reasonOf(error)}`);
        }
      }
    }
    const found: Found = { forge: forge.name, lists, looked, taken, failed };
    if (failed.length > 0)
      this.#shared.ctx.log.warn(
        { forge: forge.name, failed: failed.slice(0, 5), lists: failed.length },
        "lists of a forge could not be read; the next look goes on from where they were",
      );
    else if (taken > 0) this.#shared.ctx.log.info({ ...found }, "notes were found that no delivery told of");
    return found;
  }

  async #list(forge: Forge, { name }: ForgeList, project: (ForgeProject & { readonly at: number }) | undefined): Promise<{ looked: number; taken: number }> {
    const { rows, ctx, comments } = this.#shared;
    const key = JSON.stringify([forge.name, forge.origin, name, project?.id ?? ""]);
    const cursor = (await rows.cursors.get(key))?.value;
    const since = cursor?.since ?? (project?.at ?? Date.now()) - OVERLAP_MS;
    let [newest, looked, taken] = [since, 0, 0];
    let ops: Op[] = [];
    const save = async () => {
      await rows.store.commit([...ops, put("cursors", key, { since: Math.max(since, newest - OVERLAP_MS), at: Date.now() })]);
      taken += ops.length;
      ops = [];
    };
    for await (const note of forge.changed({ list: name, since, ...(project === undefined ? {} : { project: plain(project) }) }, ctx.signal)) {
      looked += 1;
      const seen = (await rows.objects.get(objectKey(forge.name, forge.origin, note.place, note)))?.value;
      const known = seen !== undefined && seen.updatedAt >= note.updatedAt;
      if (!known && !note.system && (await comments.byRef(forge.name, note.place, note.id)) === undefined)
        ops.push(pushIncoming({ forge: forge.name, note, via: "backfill", at: Date.now() }));
      newest = Math.max(newest, note.updatedAt);
      if (ops.length >= BATCH) await save();
    }
    await save();
    return { looked, taken };
  }

  /** Returns the configured projects and those that sent a delivery. Each is polled from the time at which it became known. */
  async #projects(forge: Forge, failed: string[]): Promise<readonly (ForgeProject & { readonly at: number })[]> {
    const { rows, ctx } = this.#shared;
    const known = new Map<string, ForgeProject & { readonly at: number }>();
    for (const { value } of await rows.projects.list({ limit: 1_000 })) if (value.forge === forge.name) known.set(value.id, value);
    try {
      for (const project of await forge.projects(ctx.signal)) {
        if (known.has(project.id)) continue;
        const row = { ...project, forge: forge.name, at: Date.now() };
        await rows.projects.put(JSON.stringify([forge.name, project.id]), row);
        known.set(project.id, row);
      }
    } catch (error) {
      failed.push(`projects: ${reasonOf(error)}`);
    }
    return [...known.values()];
  }
}

const plain = ({ id, path, private: isPrivate }: ForgeProject): ForgeProject => ({ id, path, private: isPrivate });
