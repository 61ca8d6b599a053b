import { type Claimed, codeOf, type Notifier, type PluginContext, push, reasonOf, type Target } from "@svc/sdk";
import { createBanner } from "./banner.ts";
import { startCollector } from "./collector.ts";
import { ALL_DEVICES, isOwn, noChannel, noChat, OWN } from "./own-devices.ts";
import { type NotificationSettings, targetOf } from "./settings.ts";
import { wordsFor } from "./words.ts";

type Notice = Parameters<Notifier["notify"]>[0];

/** Notice of `svc notify`. */
export interface Direct extends Pick<Notice, "text" | "title" | "priority"> {
  readonly channel?: string;
  readonly chat?: string;
  readonly account?: string;
}

/** Notices that are stored first and sent from there. */
export interface Notices extends Pick<Notifier, "notify"> {
  /** Passes the notice to the channel at once: throws without a suitable channel. Resolves with the channel. */
  send(notice: Direct): Promise<{ readonly channel: string; readonly delivery: string }>;
}

type Context = Pick<PluginContext, "env" | "events" | "jobs" | "log" | "node" | "spawn" | "store" | "tasks">;

const NOTICES = "notices";
/** A channel that is missing at a start may be there a moment later; one that was switched off for long is not waited for. */
const MOST_ATTEMPTS = 20;

/** Opens the stored notices, sends waiting ones, and starts listening for tasks. */
export async function openNotices(ctx: Context, settings: () => NotificationSettings): Promise<Notices> {
  const queue = ctx.store.queue<Notice>(NOTICES);
  const banner = createBanner({ platform: process.platform, spawn: ctx.spawn, log: ctx.log, variable: (name) => ctx.env(name) });

  async function send({ id, value, attempt }: Claimed<Notice>): Promise<void> {
    const { text, title, priority } = value;
    const { destination, local } = settings();
    if (attempt === 1) void banner({ title: title ?? "svc", text }, local);
    const target = value.destination ?? (destination && targetOf(destination));
    if (target === undefined) return;
    try {
      // The outbox knows it already where the daemon was killed before the item was done.
      const { sent } = await ctx.tasks.deliver({ ...noticeTo(target, { text, title, priority }), key: `notifications/${id}` });
      sent.catch(() => undefined);
    } catch (error) {
      if (attempt < MOST_ATTEMPTS) throw error;
      ctx.log.error({ notice: id, channel: target.channel, attempt }, `a notice was given up after ${attempt} tries: ${reasonOf(error)}`);
    }
  }

  await startCollector(ctx, settings, (happened) => push(NOTICES, `${ctx.node.id}-${crypto.randomUUID()}`, wordsFor(happened)));
  queue.work(send);

  return {
    async notify({ key, ...notice }) {
      const { destination, local } = settings();
      if (notice.destination === undefined && destination === undefined && !local.banner && !local.sound) return;
      await queue.push(notice, key === undefined ? {} : { dedupKey: key });
    },
    async send({ channel, chat, account, ...notice }) {
      const { destination, channel: preset } = settings();
      const named = channel ?? preset;
      const names = named === undefined ? OWN : [named];
      for (const name of names) {
        const configured = destination?.channel === name && chat === undefined ? targetOf(destination) : undefined;
        const to = chat ?? configured?.chat ?? (isOwn(name) ? ALL_DEVICES : undefined);
        if (to === undefined) throw noChat(name);
        const target = configured ?? { channel: name, chat: to, ...(account === undefined ? {} : { account }) };
        try {
          const { id, sent } = await ctx.tasks.deliver(noticeTo(target, notice));
          // The outbox has it: what becomes of it is told there.
          sent.catch(() => undefined);
          return { channel: name, delivery: id };
        } catch (error) {
          if (codeOf(error) !== "SVC_CHANNEL_UNKNOWN" || named !== undefined) throw error;
        }
      }
      throw noChannel();
    },
  };
}

function noticeTo(target: Target, { text, title, priority }: { text: string; title?: string | undefined; priority?: number | undefined }) {
  return { kind: "notice" as const, target, text, ...(title === undefined ? {} : { title }), ...(priority === undefined ? {} : { priority }) };
}
