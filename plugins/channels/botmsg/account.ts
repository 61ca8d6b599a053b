import { type ChannelHandle, type PluginContext, sleep, standbyNote, whileHeld } from "@svc/sdk";
import type { Api } from "grammy";
import type { Update, UserFromGetMe } from "grammy/types";
import { failureOf, isLockedOut, refusalIn, refusedToken } from "./failure.ts";
import { foreign } from "./outbound.ts";

/** Dependencies of one bot account. */
export interface AccountDeps {
  readonly ctx: Pick<PluginContext, "log" | "events" | "store">;
  readonly name: string;
  readonly api: Api;
  /** False: never asks for messages; two who ask with one token take them from each other. */
  readonly polls: boolean;
  /** Resolves when the update is kept or rightly dropped. While it rejects, the update is asked for again. */
  take(update: Update, me: UserFromGetMe): Promise<void>;
  /** `state` or `me` has changed. */
  changed(): void;
}

/** One bot account: who it is, whether it may be used, and its loop that asks for messages. */
export interface Account {
  readonly name: string;
  readonly state: "connecting" | "usable" | "refused";
  readonly reason: string;
  /** Hint for the operator although the account is usable. */
  readonly note: string | undefined;
  start(): void;
  stop(): Promise<void>;
}

const POLL_SECONDS = 30;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 60_000;
/** A second poller usually stays: the account that backs off must not return every minute. */
const LONGEST_CONFLICT_MS = 300_000;
const CONFIRM_MS = 2_000;
const REMEMBERED = 500;

/** Makes an account; it connects with `start`. */
export function createAccount({ ctx, name, api, polls, take, changed }: AccountDeps): Account {
  const { log } = ctx;
  const cut = new AbortController();
  let running: Promise<void> | undefined;
  let state: Account["state"] = "connecting";
  let reason = "not connected yet";
  let note: string | undefined;

  const turn = (next: Account["state"], why = "", said?: string) => {
    if (state === next && reason === why && note === said) return;
    state = next;
    reason = why;
    note = said;
    changed();
  };

  const pause = (failures: number, signal: AbortSignal, longest = LONGEST_PAUSE_MS) =>
    sleep(Math.min(FIRST_PAUSE_MS * 2 ** Math.min(failures, 20), longest) * (0.75 + Math.random() / 2), signal);

  /** Ask again until there is an answer, or until the platform refuses the account itself. */
  async function insist<T>(what: string, signal: AbortSignal, work: () => Promise<T>): Promise<T | undefined> {
    for (let failures = 0; !signal.aborted; failures += 1) {
      try {
        return await work();
      } catch (error) {
        if (signal.aborted) return undefined;
        if (isLockedOut(error)) {
          turn("refused", refusedToken(name));
          log.error({ account: name }, reason);
          return undefined;
        }
        const { message, retryAfterMs } = failureOf(error) as Error & { retryAfterMs?: number };
        if (state !== "usable") turn("connecting", message);
        if (failures === 0) log.warn({ account: name, reason: message }, `${what} failed; trying again`);
        if (retryAfterMs !== undefined) await sleep(retryAfterMs, signal);
        else await pause(failures, signal);
      }
    }
    return undefined;
  }

  async function run(): Promise<void> {
    const me = await insist("getMe", cut.signal, () => api.getMe(foreign(cut.signal)));
    if (me === undefined) return;
    turn("usable");
    if (!polls) return;
    const told = { signal: cut.signal, standby: (node?: string) => turn("usable", "", standbyNote(node)), failed: (why: string) => turn("usable", "", why) };
    // Two who ask with one token take the messages from each other.
    await whileHeld(ctx.store, `poll:${me.id}`, told, async (signal) => {
      turn("usable");
      await insist("deleteWebhook", signal, () => api.deleteWebhook({}, foreign(signal)));
      await listen(me, signal);
    });
  }

  async function listen(me: UserFromGetMe, signal: AbortSignal): Promise<void> {
    /** The first update that is not dealt with. Asking with it confirms all before it; unset once nothing is outstanding. */
    let next: number | undefined;
    /** Recently handled updates: the platform may deliver one again. */
    const seen = new Set<number>();
    let conflicts = 0;
    while (!signal.aborted && state === "usable") {
      const updates = await insist("getUpdates", signal, async () => {
        try {
          const answer = await api.getUpdates(
            { ...(next === undefined ? {} : { offset: next }), timeout: POLL_SECONDS, allowed_updates: ["message", "callback_query"] },
            foreign(signal),
          );
          if (conflicts > 0) log.info({ account: name }, "the other poller is gone");
          conflicts = 0;
          return answer;
        } catch (error) {
          if (refusalIn(error)?.error_code !== 409) throw error;
          conflicts += 1;
          return "conflict";
        }
      });
      if (updates === undefined) break;
      if (updates === "conflict") {
        if (conflicts === 1) tellConflict();
        await pause(conflicts, signal, LONGEST_CONFLICT_MS);
        continue;
      }
      // Ids may restart after a quiet week: remember only outstanding ones.
      if (updates.length === 0) next = undefined;
      for (const update of [...updates].sort((left, right) => left.update_id - right.update_id)) {
        const known = seen.has(update.update_id);
        if (!known && !(await keep(update, me, signal))) return confirm(next);
        // One that is known, too: unconfirmed, it would be handed out at once by each poll.
        next = Math.max(next ?? 0, update.update_id + 1);
        seen.add(update.update_id);
        if (seen.size > REMEMBERED) seen.delete(seen.values().next().value as number);
      }
    }
    await confirm(next);
  }

  /** False when the account was stopped before the update was dealt with. */
  async function keep(update: Update, me: UserFromGetMe, signal: AbortSignal): Promise<boolean> {
    for (let failures = 0; !signal.aborted; failures += 1) {
      try {
        await take(update, me);
        return true;
      } catch (error) {
        if (failures === 0)
          log.error({ account: name, update: update.update_id, err: error }, "a message could not be kept; it is not acknowledged and tried again");
        await pause(failures, signal);
      }
    }
    return false;
  }

  /** Tell the platform, in one short try, what needs not come again after a restart. */
  async function confirm(next: number | undefined): Promise<void> {
    if (next === undefined) return;
    await api.getUpdates({ offset: next, limit: 1, timeout: 0 }, foreign(AbortSignal.timeout(CONFIRM_MS))).catch(() => {});
  }

  function tellConflict(): void {
    const text = `botmsg account ${name}: another program asks for this bot's messages; stop it, or set pollInbound to false here`;
    log.warn({ account: name }, text);
    ctx.events.root(() =>
      ctx.events.publish({ kind: "status", type: "status", summary: text, data: { state: "channel-conflict", channel: "botmsg", account: name } }),
    );
  }

  return {
    name,
    get state() {
      return state;
    },
    get reason() {
      return reason;
    },
    get note() {
      return note;
    },
    start() {
      running ??= run();
    },
    async stop() {
      cut.abort(new Error("stopped"));
      await running;
    },
  };
}

/** A channel of several accounts is up when one of them is, and says why when none is. */
export function tellState(accounts: readonly Account[], handle: ChannelHandle): void {
  const notes = accounts.flatMap(({ name, note }) => (note === undefined ? [] : [accounts.length === 1 ? note : `${name}: ${note}`]));
  if (accounts.some(({ state }) => state === "usable")) handle.ready(notes.length === 0 ? undefined : notes.join("; "));
  else handle.down(accounts.length === 0 ? "no account is configured" : accounts.map(({ name, reason }) => `${name}: ${reason}`).join("; "));
}
