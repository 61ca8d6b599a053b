import { createHash, randomInt, timingSafeEqual } from "node:crypto";
import { type PluginContext, svcError } from "@svc/sdk";
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
  /** Confirms the sender to whom the code was given. Throws `SVC_BOTMSG_PAIR_CODE` (404) and, after ten wrong codes within an hour, `SVC_BOTMSG_PAIR_LIMIT` (429). */
  approve(code: string): Promise<Waiting>;
  /** Who waits now. */
  waiting(): Promise<readonly Waiting[]>;
}

/** Without the signs that are mistaken for one another. */
const ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
const LENGTH = 8;
const VALID_MS = 3_600_000;
const AGAIN_MS = 600_000;
const WRONG_ALLOWED = 10;
const WAITING_AT_MOST = 100;

/** Makes the pairing records in the plugin's store. */
export function createPairing(ctx: Pick<PluginContext, "store">, now: () => number = Date.now): Pairing {
  const paired = () => ctx.store.collection<{ at: number; name?: string }>("paired");
  const offers = () => ctx.store.collection<Waiting>("pairing");
  const pins = () => ctx.store.collection<{ id: string }>("pins");
  let wrong: number[] = [];

  const keyOf = (account: string, sender: string) => `${account}/${sender}`;
  const waiting = async () => (await offers().list({ limit: 1_000 })).map(({ value }) => value).filter(({ at }) => at > now() - VALID_MS);

  return {
    waiting,
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
    async approve(code) {
      wrong = wrong.filter((at) => at > now() - VALID_MS);
      if (wrong.length >= WRONG_ALLOWED) throw svcError("SVC_BOTMSG_PAIR_LIMIT", "Too many wrong pairing codes; try again in an hour.", { status: 429 });
      const digest = Buffer.from(digestOf(code.trim().toUpperCase()));
      const found = (await waiting()).find((one) => timingSafeEqual(Buffer.from(one.digest), digest));
      if (found === undefined) {
        wrong.push(now());
        throw svcError("SVC_BOTMSG_PAIR_CODE", "No sender waits under this code, or it is older than an hour: let them write to the bot again for a new one.", {
          status: 404,
        });
      }
      await paired().put(keyOf(found.account, found.sender), { at: now(), ...(found.name === undefined ? {} : { name: found.name }) });
      await offers().delete(keyOf(found.account, found.sender));
      return found;
    },
  };
}

const digestOf = (code: string): string => createHash("sha256").update(code).digest("hex");
