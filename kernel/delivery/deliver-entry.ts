import { type Delivery, type Log, type Outgoing, sleep } from "@svc/sdk";
import type { ChannelRender } from "../base/channel-render.ts";
import type { ProvidedChannel } from "../core/host/scope.ts";
import { type CallAnswer, createChannelCalls, type SendRefusal } from "./channel-calls.ts";
import type { ChoiceBook, ShownQuestion } from "./choice-book.ts";
import type { OfferedChoices } from "./offered-choices.ts";
import { digestOf, type OutboxEntry, openEntry } from "./outbox-entry.ts";
import type { Pace } from "./pace.ts";
import { admitMedia, partsOf } from "./parts.ts";
import { type ProgressBook, type Shown, withShown } from "./progress.ts";

/**
 * Result of one attempt. `later`: nothing is lost, retry after `waitMs`; `counts` says what the attempt used up: one of its tries, or, where the
 * platform may have accepted the message and cannot deduplicate, one of its doubts.
 */
export type Carried =
  | { readonly kind: "sent"; readonly ids: readonly string[]; readonly shown: Shown; readonly showed: ShownQuestion }
  | { readonly kind: "later"; readonly waitMs: number; readonly counts: "nothing" | "try" | "doubt"; readonly refusal?: SendRefusal }
  | { readonly kind: "failed"; readonly reason: string };

/** Dependencies of one attempt to deliver an entry. */
export interface DeliverEntryDeps {
  readonly pace: Pace;
  readonly book: ProgressBook;
  readonly choices: Pick<ChoiceBook, "shown">;
  readonly log: Log;
  readonly stop: AbortSignal;
  readonly backoff: (tries: number) => number;
  render(): ChannelRender;
  /** False for the daemon's own files: no plugin has them sent away. */
  mayLeave?(path: string): boolean;
}

/** A pause up to this long is waited for in place; a longer one gives the entry back. */
const SHORT_WAIT_MS = 3_000;
/**
 * Number of backoff steps that each doubtful send in a row adds to the pause: 1 s, then 16 s; the third one gives up. One cut connection costs the
 * reader a second.
 */
const DOUBT_STEP = 4;
const MEDIA = "media";

/** One platform message that the entry must become. */
interface Step {
  readonly out: Outgoing;
  readonly digest: string;
}

/**
 * Makes the platform show exactly this entry: existing messages are left or edited, missing ones sent, excess ones removed. Every platform id is
 * stored as soon as it is known, so that a crash at any point repeats one message at most.
 */
export async function deliverEntry(entry: OutboxEntry, redelivered: boolean, provided: ProvidedChannel, deps: DeliverEntryDeps): Promise<Carried> {
  const { pace, book, log } = deps;
  const { thing: channel } = provided;
  const { traits } = channel;
  const calls = createChannelCalls(provided, deps.stop);
  const delivery = openEntry(entry);
  const showed = delivery.choices === undefined ? delivery : await deps.choices.shown(delivery);
  const steps = await stepsOf(entry, delivery, showed, provided, deps);
  const before = await book.load(entry.progress);
  let progress: Shown = before;
  let doubtful = redelivered || before.sending === true;

  for (const [index, { out, digest }] of steps.entries()) {
    const known = progress.ids[index];
    if (known !== undefined && (progress.shown[index] === digest || channel.edit === undefined || digest === MEDIA)) continue;
    const waitMs = await rest(pace, out);
    if (waitMs > 0) return { kind: "later", waitMs, counts: "nothing" };
    let id = known;
    let answer: CallAnswer<unknown> | undefined = known === undefined ? undefined : await calls.edit(known, out);
    let repeatable = true;
    if (answer === undefined || (!answer.ok && answer.failure === "permanent")) {
      if (doubtful && traits.keyed !== true)
        log.warn({ channel: channel.name, delivery: entry.delivery.id }, "possible duplicate: an earlier send was cut off before the platform's answer");
      const sent = await calls.send(out);
      answer = sent;
      repeatable = traits.keyed === true;
      if (sent.ok) {
        id = sent.value;
        if (doubtful && traits.keyed === true && channel.edit !== undefined) {
          // The platform may have answered with the message that an earlier, shorter text made under this key.
          await book.save(entry.progress, withShown(progress, index, id, ""));
          answer = await calls.edit(id, out);
        }
      }
      doubtful = false;
    }
    if (!answer.ok) return refused(answer, repeatable, entry, provided, deps);
    pace.passed(out.target, id === known ? (traits.editIntervalMs ?? 0) : 0);
    progress = withShown(progress, index, id as string, digest);
    if (index < steps.length - 1 || progress.ids.length > steps.length || delivery.choices !== undefined) await book.save(entry.progress, progress);
  }

  for (const surplus of progress.ids.slice(steps.length)) {
    const out: Outgoing = { target: entry.delivery.target, text: "", plain: "", key: `${entry.progress}/surplus` };
    const waitMs = await rest(pace, out);
    if (waitMs > 0) return { kind: "later", waitMs, counts: "nothing" };
    const answer = await calls.remove(surplus, out);
    if (!answer.ok && answer.failure !== "permanent") return refused(answer, true, entry, provided, deps);
  }
  const ids = progress.ids.slice(0, steps.length);
  return { kind: "sent", ids, shown: { ids, shown: progress.shown.slice(0, steps.length) }, showed };
}

async function stepsOf(
  entry: OutboxEntry,
  delivery: Delivery,
  showed: ShownQuestion,
  { thing: channel }: ProvidedChannel,
  deps: DeliverEntryDeps,
): Promise<readonly Step[]> {
  const render = deps.render();
  const { target } = delivery;
  const { text: words, buttons }: OfferedChoices =
    showed.choices === undefined
      ? showed
      : (await import("./offered-choices.ts")).offerChoices({ id: delivery.id, text: showed.text }, showed.choices, channel.traits);
  const { taken, refused } = await admitMedia(delivery.media ?? [], channel.traits, (path) => deps.mayLeave?.(path) ?? true);
  const text = [words, ...refused].filter((line) => line !== "").join("\n\n");
  const { replyTo: _replyTo, ...sequel } = target;
  const extras = {
    ...(delivery.agent === undefined ? {} : { agent: delivery.agent }),
    ...(delivery.title === undefined ? {} : { title: delivery.title }),
    ...(delivery.priority === undefined ? {} : { priority: delivery.priority }),
  };
  const steps: Step[] = partsOf(text, channel.traits, render).map((part, index) => ({
    out: { target: index === 0 ? target : sequel, ...part, key: `${entry.progress}/${index}`, ...extras },
    digest: digestOf(part.text),
  }));
  const last = steps.at(-1);
  if (last !== undefined && buttons !== undefined)
    steps[steps.length - 1] = { out: { ...last.out, choices: buttons }, digest: digestOf(JSON.stringify([last.out.text, buttons])) };
  for (const media of taken) {
    const index = steps.length;
    steps.push({
      out: { target: index === 0 ? target : sequel, text: "", plain: "", media: [media], key: `${entry.progress}/${index}`, ...extras },
      digest: MEDIA,
    });
  }
  return steps;
}

/** Wait out a short pause; answers how long a longer one still is. */
async function rest(pace: Pace, { target }: Outgoing): Promise<number> {
  const pause = pace.wait(target);
  if (pause === 0 || pause > SHORT_WAIT_MS) return pause;
  await sleep(pause);
  return 0;
}

/** `repeatable`: doing it again cannot show anything twice. */
function refused(refusal: SendRefusal, repeatable: boolean, entry: OutboxEntry, provided: ProvidedChannel, { pace, log, backoff }: DeliverEntryDeps): Carried {
  const { thing: channel } = provided;
  const { target } = entry.delivery;
  if (refusal.failure === "permanent") return { kind: "failed", reason: refusal.reason };
  if (refusal.failure === "retry" && refusal.retryAfterMs !== undefined) {
    pace.refused(target, refusal.retryAfterMs);
    return { kind: "later", waitMs: pace.wait(target), counts: "nothing", refusal };
  }
  if (refusal.failure === "unknown" && !repeatable) {
    const { doubts = 0 } = entry;
    log.warn(
      { channel: channel.name, delivery: entry.delivery.id, reason: refusal.reason, doubts: doubts + 1 },
      "possible duplicate: the platform may have taken a message whose answer never came",
    );
    return { kind: "later", waitMs: backoff(doubts * DOUBT_STEP), counts: "doubt", refusal };
  }
  // An entry is not at fault if its channel went down in between.
  return { kind: "later", waitMs: backoff(entry.tries), counts: provided.state === "ready" ? "try" : "nothing", refusal };
}
