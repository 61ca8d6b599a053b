import { backoffMs, type PluginContext, reasonOf, sleep } from "@svc/sdk";
import { createCursors } from "./cursors.ts";
import { createHistory } from "./history.ts";
import { createLanes } from "./lanes.ts";
import { type Heard, heardOf, isOwn, keyOf, type Place, pressOf } from "./map.ts";
import { createPeople } from "./names.ts";
import { agentMeant, refusalOf } from "./policy.ts";
import type { NamedWorkspace, Settings } from "./settings.ts";
import type { Envelope } from "./socket.ts";
import type { WebApi } from "./web-api.ts";
import type { EventPayload, Me, PressPayload, WireEvent } from "./wire.ts";
import { mentionedIn } from "./words.ts";

/** Dependencies of receiving, once our account is known. */
export interface HearingDeps {
  readonly ctx: PluginContext<Settings>;
  readonly settings: NamedWorkspace;
  /** The agents that answer in some workspace. */
  readonly bound: ReadonlySet<string>;
  readonly api: WebApi;
  readonly me: Me;
  readonly signal: AbortSignal;
  /** Something does not work, as a sentence that says what to do. */
  lacks(words: string): void;
}

/** Receives the messages of one workspace: by envelopes, and by reading the history for missed ones. */
export interface Hearing {
  /** The envelope is acknowledged when what it brings is stored or rightly dropped. */
  take(envelope: Envelope, acknowledge: () => void, sideBySide: boolean): void;
  /** Call after a gap: reads missed messages, in each chat before live ones. */
  catchUp(): Promise<void>;
  stop(): Promise<void>;
}

const HOUR_MS = 3_600_000;
/** Chats in which nothing was heard for longer are read only where the bot still is. */
const ACTIVE_MS = 30 * 24 * HOUR_MS;
const LONGEST_PAUSE_MS = 30_000;
/** While two sockets are open, what was said before may come by the other one so much later. */
const SETTLE_MS = 250;
const NOT_YOURS = "You cannot answer this here.";

/** Makes the hearing of one workspace. */
export function createHearing({ ctx, settings, bound, api, me, signal, lacks }: HearingDeps): Hearing {
  const { config, log } = ctx;
  const { name } = settings;
  const people = createPeople(api, log, signal);
  // Two bots of one workspace hear the same messages, each for itself.
  const cursors = createCursors(ctx.store, `${me.team}.${me.user}`);
  const history = createHistory({ api, log, cursors, signal, reachMs: (config.catchUpHours ?? 24) * HOUR_MS, lacks });
  const place: Place = { account: name, me, names: people.names, teamOf: people.teamOf };
  /** Time since which messages of unknown chats may have been missed; undefined: it was never connected. */
  let missedFrom: Promise<number | undefined> = Promise.resolve(undefined);
  const lanes = createLanes({
    log,
    async bringIn(chat) {
      try {
        for (const post of await history.missedIn(chat, await missedFrom)) await keep(chat, post);
      } catch (error) {
        if (!signal.aborted) log.error({ workspace: name, err: error }, "what was missed in a chat could not be read; it is tried after the next gap");
      }
    },
  });

  /** Somebody waits for a button to answer: it is not kept behind what was missed. */
  const presses = createLanes({ log, bringIn: async () => {} });

  /** Like a lane does it, for a message that no envelope brought. */
  async function keep(chat: string, post: WireEvent): Promise<void> {
    for (let failures = 1; !signal.aborted; failures += 1) {
      try {
        return await said(post, chat);
      } catch (error) {
        if (failures === 1) log.error({ workspace: name, err: error }, "a message could not be kept; it is tried again");
        await sleep(backoffMs(failures, { longestMs: LONGEST_PAUSE_MS }), signal);
      }
    }
  }

  async function said(event: WireEvent, chat: string): Promise<void> {
    const { ts = "", thread_ts } = event;
    if (isOwn(event, me) || (await cursors.get(chat))?.recent.includes(ts)) return;
    await people.learn([event.user ?? "", ...mentionedIn(event.text ?? "")]);
    const heard = heardOf(event, chat, place);
    if (heard === undefined) return;
    const refusal = await handOver(heard);
    const where = [chat, ts, thread_ts ?? heard.message.thread] as const;
    if (refusal === undefined) {
      await cursors.kept(...where);
      return;
    }
    // On a full disk it may be told of once more after a restart, which is better than never.
    await cursors.dropped(...where).catch((error) => log.warn({ workspace: name, reason: reasonOf(error) }, "how far a chat was heard could not be stored"));
    drop(heard, refusal);
  }

  /** Hand a message over. Answers why it is dropped; rejects where it could not be kept. */
  async function handOver(heard: Heard): Promise<string | undefined> {
    const agent = agentMeant(heard, settings.agentBinding, ctx.agents.list(), bound);
    // Naming an agent that answers here addresses this bot.
    const meant = { ...heard, addressed: heard.addressed || agent !== settings.agentBinding };
    const refusal = refusalOf(meant, settings, config);
    if (refusal !== undefined) return refusal;
    try {
      await ctx.tasks.accept({ ...heard.message, agent });
      return undefined;
    } catch (error) {
      const { status = 500, message } = error as { status?: number; message: string };
      // A message that the kernel will never accept must not block later ones.
      if (status < 400 || status >= 500) throw error;
      return message;
    }
  }

  /** CHAN-08: each message that is not handed over is told of once. */
  function drop({ message: { platformId } }: Heard, why: string): void {
    ctx.events.root(() =>
      ctx.events.publish({
        kind: "message",
        type: "message:dropped",
        agentId: settings.agentBinding,
        summary: `teamchat message dropped: ${why}`,
        ref: platformId,
        data: { channel: "teamchat", account: name, reason: why },
      }),
    );
  }

  /** A button: who pressed it is told where it counted for nothing. */
  async function pressed(payload: PressPayload): Promise<void> {
    await people.learn([payload.user?.id ?? ""]);
    const heard = pressOf(payload, place);
    if (heard === undefined) return;
    const refusal = await handOver(heard);
    if (refusal === undefined) return;
    drop(heard, refusal);
    const { chat, sender, choice } = heard.message;
    const text = choice === undefined || refusal.includes("allowFrom") || refusal.includes("blocked") ? NOT_YOURS : refusal;
    const thread = payload.container?.thread_ts;
    const whisper = { channel: chat, user: sender.id, text, ...(thread === undefined ? {} : { thread_ts: thread }) };
    void api.call("chat.postEphemeral", whisper, { signal: signal, writes: true }).catch(() => {});
  }

  /** Reads what was missed in every chat, one after the other; those in which something is said now come first by themselves. */
  async function sweep(): Promise<void> {
    const since = await missedFrom;
    await cursors.connected();
    if (since === undefined) return;
    const active = await cursors.since(Date.now() - ACTIVE_MS);
    const chats = new Set([...active, ...(await history.chats())]);
    for (const chat of chats) if (!signal.aborted) await lanes.catchUp(chat);
  }

  return {
    take({ type, payload }, acknowledge, sideBySide) {
      const item = itemOf(type, payload, me);
      if (item === undefined) {
        acknowledge();
        return;
      }
      const { chat, key, ts, event, press } = item;
      const settleMs = sideBySide ? SETTLE_MS : 0;
      if (event !== undefined) lanes.push(chat, { key, ts, settleMs, acknowledge, work: () => said(event, chat) });
      else presses.push(chat, { key, ts, settleMs: 0, acknowledge, work: () => pressed(press as PressPayload) });
    },
    async catchUp() {
      missedFrom = cursors.lastHeard();
      lanes.missed();
      try {
        await sweep();
      } catch (error) {
        if (!signal.aborted) log.error({ workspace: name, err: error }, "what was missed could not be read; it is tried after the next gap");
      }
    },
    async stop() {
      await Promise.all([lanes.stop(), presses.stop()]);
      await cursors.flush();
    },
  };
}

interface Taken {
  readonly chat: string;
  readonly key: string;
  readonly ts: string;
  readonly event?: WireEvent;
  readonly press?: PressPayload;
}

/** Returns the message or the pressed button of an envelope; undefined for others. */
function itemOf(type: string, payload: unknown, me: Me): Taken | undefined {
  if (type === "events_api") {
    const { event } = (payload ?? {}) as EventPayload;
    const { type: kind, channel, ts } = event ?? {};
    if (event === undefined || (kind !== "message" && kind !== "app_mention") || channel === undefined || ts === undefined) return undefined;
    return { chat: channel, key: keyOf(me, channel, ts), ts, event };
  }
  if (type !== "interactive") return undefined;
  const press = (payload ?? {}) as PressPayload;
  const [action] = press.actions ?? [];
  const chat = press.channel?.id;
  if (press.type !== "block_actions" || action === undefined || chat === undefined) return undefined;
  const ts = action.action_ts ?? press.container?.message_ts ?? "0";
  return { chat, key: `${keyOf(me, chat, ts)}/press/${press.user?.id ?? ""}`, ts, press };
}
