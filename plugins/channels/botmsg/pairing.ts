import { createHash, randomInt, timingSafeEqual } from "node:crypto";
import { codeOf, type PluginContext, put, remove, svcError } from "@svc/sdk";
import type { Known } from "./policy.ts";

/** Somebody who is allowed to write and waits to be confirmed. */
export interface Waiting {
  readonly account: string;
  readonly sender: string;
  readonly name?: string;
  readonly chat: string;
  /** SHA-256 of the code; the code itself is only in the sender's hands. */
  readonly digest: string;
  /** Unix milliseconds. */
  readonly at: number;
}

/** Confirms people for direct messages by a code that they pass on to the operator. */
export interface Pairing {
  known(account: string): Known;
  /** A code for a new sender, or nothing when one was given within the last ten minutes. */
  offer(who: Omit<Waiting, "digest" | "at">): Promise<string | undefined>;
  /** Takes back an offer whose code has reached nobody. */
  withdraw(account: string, sender: string): Promise<void>;
  /** Confirms the sender to whom the code was given. Throws `SVC_BOTMSG_PAIR_CODE` (404) and, after ten wrong codes within an hour, `SVC_BOTMSG_PAIR_LIMIT` (429). */
  approve(code: string): Promise<Waiting>;
  /** People who wait for a confirmation. */
  waiting(): Promise<readonly Waiting[]>;
}

/** Without the signs that are mistaken for one another. */
const ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
const LENGTH = 8;
const VALID_MS = 3_600_000;
const AGAIN_MS = 600_000;
const WRONG_ALLOWED = 10;
const WAITING_AT_MOST = 100;
/** The document with the times of wrong codes. */
const WRONG = "wrong";

/** Makes the pairing records in the plugin's store. */
export function createPairing(ctx: Pick<PluginContext, "store">, now: () => number = Date.now): Pairing {
  const paired = () => ctx.store.collection<{ at: number; name?: string }>("paired");
  const offers = () => ctx.store.collection<Waiting>("pairing");
  const pins = () => ctx.store.collection<{ id: string }>("pins");
  const tries = () => ctx.store.collection<{ at: readonly number[] }>("pairing-tries");

  const keyOf = (account: string, sender: string) => `${account}/${sender}`;
  const waiting = async () => (await offers().list({ limit: 1_000 })).filter(({ value }) => value.at > now() - VALID_MS);
  /** Changes the stored times of wrong codes; daemons that share the store change them one after the other. */
  const count = async (change: (at: readonly number[]) => readonly number[]): Promise<void> => {
    for (;;) {
      const before = await tries().get(WRONG);
      const at = change((before?.value.at ?? []).filter((time) => time > now() - VALID_MS));
      try {
        await tries().put(WRONG, { at }, before?.version ?? "absent");
        return;
      } catch (error) {
        if (codeOf(error) !== "SVC_STORE_CONFLICT") throw error;
      }
    }
  };

  return {
    waiting: async () => (await waiting()).map(({ value }) => value),
    known: (account) => ({
      paired: async (sender) => sender !== "" && (await paired().get(keyOf(account, sender))) !== undefined,
      async pin(handle, senderId) {
        const key = keyOf(account, handle);
        const before = await pins().get(key);
        if (before === undefined) await pins().put(key, { id: senderId });
        return before?.value.id ?? senderId;
      },
    }),
    async offer(who) {
      const key = keyOf(who.account, who.sender);
      const before = (await offers().get(key))?.value;
      if (before !== undefined && before.at > now() - AGAIN_MS) return undefined;
      for (const { key: old, value } of await offers().list({ limit: 1_000 })) if (value.at <= now() - VALID_MS) await offers().delete(old);
      if ((await offers().count()) >= WAITING_AT_MOST) return undefined;
      const code = Array.from({ length: LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join("");
      await offers().put(key, { ...who, digest: digestOf(code), at: now() });
      return code;
    },
    withdraw: (account, sender) => offers().delete(keyOf(account, sender)),
    async approve(code) {
      const tried = now();
      // Counted before it is looked at: codes that are tried side by side are no more than ten either.
      await count((at) => {
        if (at.length >= WRONG_ALLOWED) throw svcError("SVC_BOTMSG_PAIR_LIMIT", "Too many wrong pairing codes; try again in an hour.", { status: 429 });
        return [...at, tried];
      });
      const digest = Buffer.from(digestOf(code.trim().toUpperCase()));
      const found = (await waiting()).find(({ value }) => timingSafeEqual(Buffer.from(value.digest), digest));
      if (found === undefined) throw noneWaits();
      const { key, value, version } = found;
      try {
        const entry = { at: now(), ...(value.name === undefined ? {} : { name: value.name }) };
        await ctx.store.commit([remove("pairing", key, version), put("paired", key, entry)]);
      } catch (error) {
        // Somebody else has confirmed it, or the person was given another code.
        throw codeOf(error) === "SVC_STORE_CONFLICT" ? noneWaits() : error;
      }
      await count((at) => at.toSpliced(at.indexOf(tried), at.includes(tried) ? 1 : 0));
      return value;
    },
  };
}

const noneWaits = () =>
  svcError("SVC_BOTMSG_PAIR_CODE", "No sender waits under this code, or it is older than an hour: let them write to the bot again for a new one.", {
    status: 404,
  });
const digestOf = (code: string): string => createHash("sha256").update(code).digest("hex");
