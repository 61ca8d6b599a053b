import { createHash, randomUUID } from "node:crypto";
import { type Collection, codeOf, type Doc, type Op, type PluginContext, push, put, remove } from "@svc/sdk";
import { canonicalId } from "./chat-id.ts";
import type { TriageRule } from "./settings.ts";
import type { SyncedMessage } from "./synced-message.ts";
import { MESSAGES, OPEN, SEEN, WORK, type Work } from "./triage-work.ts";

const KEPT_MS = 7 * 86_400_000;
const PAGE = 1_000;
/** Tries against others that write to the same chat at the same moment. */
const TRIES = 20;

/** Messages of one chat and rule that came within `batchSeconds`: one task. All of it is rows, so a batch survives the daemon. */
export class Batches {
  readonly #store: PluginContext["store"];
  readonly #open: Collection<{ readonly batch: string }>;
  readonly #seen: Collection<{ readonly at: number }>;
  readonly #messages: Collection<SyncedMessage>;
  #order = 0;

  constructor(store: PluginContext["store"]) {
    this.#store = store;
    this.#open = store.collection(OPEN);
    this.#seen = store.collection(SEEN, { indexes: ["at"] });
    this.#messages = store.collection(MESSAGES);
  }

  /** Adds the message to the open batch of its chat, or opens one that is due after `seconds`. Resolves after the commit; false for one that is there already. */
  async add(rule: TriageRule, message: SyncedMessage, seconds: number): Promise<boolean> {
    const chat = canonicalId(message.chat);
    const openKey = openKeyOf(rule.id, chat);
    const seenKey = digestOf(chat, message.id);
    for (let left = TRIES; ; left--) {
      if ((await this.#seen.get(seenKey)) !== undefined) return false;
      const open = await this.#open.get(openKey);
      const batch = open?.value.batch ?? `b_${randomUUID().replaceAll("-", "").slice(0, 20)}`;
      const work: Work = { step: "collect", batch, rule: rule.id, chat, ...(message.chatName === undefined ? {} : { chatName: message.chatName }) };
      const opening =
        open === undefined
          ? [put(OPEN, openKey, { batch }, "absent"), push(WORK, batch, work, { group: chat, delayMs: seconds * 1_000 })]
          : [put(OPEN, openKey, { batch }, open.version)];
      try {
        await this.#store.commit([put(SEEN, seenKey, { at: Date.now() }, "absent"), put(MESSAGES, this.#keyOf(batch), message), ...opening]);
        return true;
      } catch (error) {
        if (codeOf(error) !== "SVC_STORE_CONFLICT" || left === 1) throw error;
      }
    }
  }

  /** From now on messages of the chat open another batch. Called again it changes nothing. */
  async close(rule: string, chat: string, batch: string): Promise<void> {
    const key = openKeyOf(rule, chat);
    for (;;) {
      const open = await this.#open.get(key);
      if (open?.value.batch !== batch) return;
      try {
        return await this.#open.delete(key, open.version);
      } catch (error) {
        if (codeOf(error) !== "SVC_STORE_CONFLICT") throw error;
      }
    }
  }

  /** Its messages, in the order in which they came. */
  async messages(batch: string): Promise<readonly SyncedMessage[]> {
    return (await this.#rows(batch)).map(({ value }) => value);
  }

  /** Writes that take them out, for the commit in which the agent has them. */
  async removal(batch: string): Promise<readonly Op[]> {
    return (await this.#rows(batch)).map(({ key }) => remove(MESSAGES, key));
  }

  /** Forgets digests that are older than a week. */
  async sweep(): Promise<void> {
    for (;;) {
      const old = await this.#seen.list({ by: "at", to: Date.now() - KEPT_MS, limit: PAGE });
      if (old.length === 0) return;
      await this.#store.commit(old.map(({ key }) => remove(SEEN, key)));
    }
  }

  async #rows(batch: string): Promise<readonly Doc<SyncedMessage>[]> {
    const rows: Doc<SyncedMessage>[] = [];
    for (;;) {
      const last = rows.at(-1)?.key;
      const page = await this.#messages.list({ from: `${batch}/`, to: `${batch}0`, limit: PAGE, ...(last === undefined ? {} : { after: last }) });
      rows.push(...page);
      if (page.length < PAGE) return rows;
    }
  }

  /** Sorts by arrival, also over a restart. */
  #keyOf(batch: string): string {
    this.#order = (this.#order + 1) % 1_000_000;
    return `${batch}/${String(Date.now()).padStart(15, "0")}-${String(this.#order).padStart(6, "0")}-${randomUUID().slice(0, 4)}`;
  }
}

const openKeyOf = (rule: string, chat: string): string => `${rule}/${digestOf(chat).slice(0, 32)}`;
const digestOf = (...parts: readonly string[]): string => createHash("sha256").update(parts.join("\n")).digest("hex");
