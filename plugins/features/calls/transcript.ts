import { type Collection, codeOf, type PluginContext, reasonOf } from "@svc/sdk";
import { durationWords, type Line, type Place } from "./call-row.ts";
import type { LiveCall } from "./live-call.ts";

/** Time in which lines are batched into one message. */
const GATHER_MS = 2_000;
const MOST_LINES = 1_000;

/** The transcript of calls in a chat, which grows while they run. */
export interface Transcript {
  /** A line was stored: it goes out soon. */
  grown(call: LiveCall): void;
  /** Sends the pending lines; resolves when the outbox has them, or when there is no destination. */
  send(call: TranscriptOwner, place: Place | undefined): Promise<void>;
  lines(call: string): Promise<readonly Line[]>;
}

/** The row of a call, live or not, as far as its transcript goes. */
export interface TranscriptOwner {
  readonly row: { readonly id: string; readonly agent: string; readonly said: number; readonly sent: number; readonly sending?: { from: number; to: number } };
  change(change: { sending?: { from: number; to: number } | undefined; sent?: number }): Promise<void>;
}

/** Sends transcripts. Each batch is noted before it goes out and has a key of its own: a restart sends nothing twice and leaves nothing out. */
export function createTranscript(ctx: Pick<PluginContext, "jobs" | "log" | "tasks">, rows: Collection<Line>, place: () => Place | undefined): Transcript {
  const planned = new Set<string>();
  const queues = new Map<string, Promise<void>>();

  const linesOf = async (call: string, from = 0, to = Number.POSITIVE_INFINITY): Promise<Line[]> => {
    const found = await rows.list({ where: { call }, limit: MOST_LINES });
    let all = found;
    for (let page = found; page.length === MOST_LINES; ) {
      page = await rows.list({ where: { call }, limit: MOST_LINES, after: page.at(-1)?.key as string });
      all = [...all, ...page];
    }
    const lines = all.map(({ value }) => value).sort((one, other) => one.n - other.n);
    return lines.filter(({ n }) => n >= from && n < to);
  };

  async function sendBatches(owner: TranscriptOwner, target: Place): Promise<void> {
    for (;;) {
      const { id, agent, said, sent, sending } = owner.row;
      const batch = sending ?? { from: sent, to: said };
      if (batch.from >= batch.to) return;
      if (sending === undefined) await owner.change({ sending: batch });
      const lines = await linesOf(id, batch.from, batch.to);
      await deliverOnce(ctx, { target, agent, text: lines.map(lineWords).join("\n"), key: `calls/${id}/lines/${batch.from}` });
      await owner.change({ sent: batch.to, sending: undefined });
    }
  }

  const transcript: Transcript = {
    grown(call) {
      const { id } = call.row;
      if (planned.has(id)) return;
      planned.add(id);
      ctx.jobs.after(GATHER_MS, () => {
        planned.delete(id);
        if (!call.over) void transcript.send(call, place());
      });
    },
    send(owner, target) {
      if (target === undefined) return Promise.resolve();
      const { id } = owner.row;
      const sending = (queues.get(id) ?? Promise.resolve())
        .then(() => sendBatches(owner, target))
        .catch((error) =>
          ctx.log.warn({ call: id, channel: target.channel, reason: reasonOf(error) }, "the transcript of a call did not go out; it is tried again"),
        )
        .finally(() => {
          if (queues.get(id) === sending) queues.delete(id);
        });
      queues.set(id, sending);
      return sending;
    },
    lines: (call) => linesOf(call),
  };
  return transcript;
}

/** Hands a notice to the outbox; one with the same key that is there already counts. */
export async function deliverOnce(
  ctx: Pick<PluginContext, "log" | "tasks">,
  { target, agent, text, key }: { readonly target: Place; readonly agent: string; readonly text: string; readonly key: string },
): Promise<void> {
  const { sent } = await ctx.tasks.deliver({ kind: "notice", target, text, agent, key });
  sent.catch((error) => {
    if (codeOf(error) !== "SVC_DELIVERY_KNOWN") ctx.log.warn({ channel: target.channel, reason: reasonOf(error) }, "a notice of a call did not arrive");
  });
}

/** A line as it is read: when, who, what; nothing of it is markup. */
export const lineWords = ({ atMs, who, text }: Line): string => `${clock(atMs)} ${bare(who)}: ${bare(text)}`;

const clock = (ms: number): string => {
  const seconds = Math.floor(ms / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
};

/** Markdown that stands for these words alone. */
export const bare = (words: string): string => words.replace(/[\\`*_~<>[\]|#]/g, "\\$&");

/** `41 lines in 3 min 12 s`. */
export const sizeWords = (lines: number, ms: number): string => `${lines} ${lines === 1 ? "line" : "lines"} in ${durationWords(ms)}`;
