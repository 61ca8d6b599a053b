import { codeOf, type Delivery, type Log, type Op, put, remove, type Store } from "@svc/sdk";
import { fail } from "../base/errors.ts";
import type { Bus } from "../core/bus/bus.ts";
import type { WithheldDeliveries } from "../core/flow/deliveries-port.ts";
import { decideHeld } from "../core/flow/record.ts";
import type { Live } from "../core/host/live.ts";
import { type OutboxEntry, openEntry, sealEntry } from "./outbox-entry.ts";
import type { ProgressBook } from "./progress.ts";

/** Dependencies of the book of withheld deliveries. */
export interface WithheldDeps {
  readonly store: Store;
  readonly bus: Pick<Bus, "publish" | "within">;
  readonly log: Log;
  readonly book: ProgressBook;
  /** The store's steady milliseconds. */
  now(): number;
  live(): Live;
  readonly ttlMs: number;
  /** Most that are kept; of more the oldest expire. */
  readonly most: number;
  /** The writes that put an entry into its outbox. */
  push(entry: OutboxEntry): readonly Op[];
  /** A released delivery, or the notice about a refused one, is in the outbox. */
  released(delivery: Delivery): void;
  /** Returns the notice for the asker of a refused answer. Undefined without an asker. */
  refusal(entry: OutboxEntry): Promise<{ readonly notice: Delivery; readonly ops: readonly Op[] } | undefined>;
  /** Called once for all that expired together. */
  expired(entries: readonly OutboxEntry[]): void;
}

/** Deliveries that a `deliver` tap withholds, each a row until somebody decides about it or it expires. */
export interface WithheldBook extends WithheldDeliveries {
  /** Returns the write that stores a delivery with its text; it goes into the commit that would have sent it. */
  op(entry: OutboxEntry, unjudged: boolean): Op;
  /** That commit is durable. */
  kept(delivery: Delivery): void;
  count(): Promise<number>;
  /** Drops expired and excess entries. */
  sweep(): Promise<void>;
}

/** One row. `at` is steady and gives the age; `since` is for people. */
interface Row {
  readonly entry: OutboxEntry;
  readonly reason: string;
  readonly at: number;
  readonly since: number;
  /** Whether its channel was available. */
  readonly sends: boolean;
  /** A required tap failed: it has not checked the delivery. */
  readonly unjudged?: true;
}

const COLLECTION = "withheld";
const PAGE = 500;
const REASON_CHARS = 300;

/** The withheld deliveries in a collection of the store. */
export function createWithheldBook(deps: WithheldDeps): WithheldBook {
  const { store, bus, log, live, now } = deps;
  const rows = store.collection<Row>(COLLECTION, { indexes: ["at"] });
  let sweeping = false;

  function publish(type: string, { rootId, delivery: { id, kind, target, agent, taskId } }: OutboxEntry, words: string, reason?: string): void {
    const facts = { channel: target.channel, delivery: id, ...(taskId === undefined ? {} : { taskId }), ...(reason === undefined ? {} : { reason }) };
    const event = { kind: "channel", type, summary: `${kind} on ${target.channel} ${words}`, ...(agent === undefined ? {} : { agentId: agent }), data: facts };
    if (rootId === undefined) bus.publish(event);
    else bus.within({ rootId }, () => bus.publish(event));
  }

  /** One decision about one row. False when it was decided already. */
  async function decide(id: string, version: number, ops: readonly Op[]): Promise<boolean> {
    try {
      await store.commit([remove(COLLECTION, id, version), ...ops]);
      return true;
    } catch (error) {
      if (codeOf(error) === "SVC_STORE_CONFLICT") return false;
      throw error;
    }
  }

  /** If a required tap failed when the delivery was created, it must let the delivery pass before the release. */
  async function judge(id: string, row: Row, version: number): Promise<Delivery> {
    const given = openEntry(row.entry);
    if (!row.unjudged) return given;
    const judged = await live().hooks.deliver(given);
    if (judged.held === undefined) return judged;
    const { unjudged: _, ...rest } = row;
    await store.commit([
      put(COLLECTION, id, { ...rest, entry: resealed(judged, row.entry, row.entry.at), reason: judged.held.slice(0, REASON_CHARS) }, version),
    ]);
    throw fail("SVC_DELIVERY_HELD", { channel: judged.target.channel, reason: judged.held });
  }

  async function drop(id: string, row: Row, version: number, error: string, more: readonly Op[] = []): Promise<boolean> {
    const { entry } = row;
    return decide(id, version, [deps.book.forget(entry.progress), ...(await decideHeld(store, entry.delivery.taskId, id, { error })), ...more]);
  }

  return {
    op(entry, unjudged) {
      const { id, target, held = "" } = entry.delivery;
      const row: Row = { entry, reason: held.slice(0, REASON_CHARS), at: now(), since: Date.now(), sends: live().channels.has(target.channel) };
      return put(COLLECTION, id, unjudged ? { ...row, unjudged } : row);
    },
    kept(delivery) {
      publish("delivery:withheld", sealEntry(delivery, { at: 0, progress: "" }), "is withheld", delivery.held?.slice(0, REASON_CHARS));
    },
    count: () => rows.count(),
    async list(query = {}) {
      const page = await rows.list({ limit: query.limit ?? PAGE, ...(query.after === undefined ? {} : { after: query.after }) });
      return page.map(({ value: { entry, reason, since } }) => {
        const { held: _, ...delivery } = openEntry(entry);
        return { delivery, reason, since };
      });
    },
    async release(id) {
      const found = await rows.get(id);
      if (found === undefined) return false;
      const { entry, sends } = found.value;
      const { held: _, ...delivery } = await judge(id, found.value, found.version);
      const { channel } = delivery.target;
      if (sends && !live().channels.has(channel)) throw fail("SVC_CHANNEL_UNKNOWN", { channel });
      const next = resealed(delivery, entry, now());
      const ops = await decideHeld(store, delivery.taskId, id, { response: delivery.text });
      if (!(await decide(id, found.version, sends ? [...deps.push(next), ...ops] : ops))) return false;
      publish("delivery:released", next, "is released");
      if (sends) deps.released(delivery);
      return true;
    },
    async refuse(id, reason) {
      const found = await rows.get(id);
      if (found === undefined) return false;
      const words = reason.slice(0, REASON_CHARS);
      const told = await deps.refusal(found.value.entry);
      if (!(await drop(id, found.value, found.version, `The answer was refused: ${words}`, told?.ops))) return false;
      publish("delivery:refused", found.value.entry, "is refused", words);
      if (told !== undefined) deps.released(told.notice);
      return true;
    },
    async sweep() {
      if (sweeping) return;
      sweeping = true;
      const expired: OutboxEntry[] = [];
      try {
        for (;;) {
          const tooMany = Math.min(PAGE, Math.max(0, (await rows.count()) - deps.most));
          const old = await rows.list({ by: "at", to: now() - deps.ttlMs, limit: PAGE });
          const gone = old.length > 0 || tooMany === 0 ? old : await rows.list({ by: "at", limit: tooMany });
          for (const { key, value, version } of gone)
            if (await drop(key, value, version, "The answer was withheld and has expired.")) expired.push(value.entry);
          if (gone.length === 0) break;
        }
      } catch (error) {
        log.error({ err: error }, "withheld deliveries could not be looked through; tried again within a minute");
      } finally {
        sweeping = false;
      }
      if (expired.length > 0) deps.expired(expired);
    },
  };
}

/** Returns the entry with the updated delivery and the age `at`. */
const resealed = (delivery: Delivery, { progress, rootId }: OutboxEntry, at: number): OutboxEntry =>
  sealEntry(delivery, { at, progress, ...(rootId === undefined ? {} : { rootId }) });
