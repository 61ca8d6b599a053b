import type { TierEvent } from "@svc/sdk";
import type { Inbox } from "./inbox.ts";
import { type Item, isFinal } from "./item.ts";

/** The session that holds a turn. */
export interface Holder {
  readonly session: string;
  readonly pid?: number;
}

/** Whether the kernel ended a turn because the daemon stops: it resumes it at its next start. */
const isInterrupted = (reason: unknown): boolean => (reason as { kind?: unknown } | null | undefined)?.kind === "interrupted";

/**
 * The turn of a queued message, without a slot: each change of the item is a step of its trace, its end is the turn's. Aborting the turn cancels the
 * item, even if the stream is never read.
 */
export function holdTurn(inbox: Inbox, item: Item, holder: Holder, signal: AbortSignal, ended: () => void): AsyncIterable<TierEvent> {
  const changes: Item[] = [];
  let wake = () => {};
  const over = inbox.listen(item.id, (changed) => {
    changes.push(changed);
    wake();
  });
  const giveUp = () => void (isInterrupted(signal.reason) ? inbox.fall(item.id, "restart") : inbox.cancel(item.id)).finally(() => wake());
  signal.addEventListener("abort", giveUp, { once: true });
  if (signal.aborted) giveUp();
  const finish = () => {
    over();
    signal.removeEventListener("abort", giveUp);
    ended();
  };

  async function* run(): AsyncGenerator<TierEvent> {
    let last = item;
    try {
      yield { type: "parked", reason: `message ${item.id} waits for ${nameOf(holder)}` };
      yield receipt(item, holder);
      for (;;) {
        const next = changes.shift();
        if (next === undefined) {
          if (signal.aborted) return;
          await new Promise<void>((resolve) => {
            wake = resolve;
            if (changes.length > 0 || signal.aborted) resolve();
          });
          continue;
        }
        last = next;
        yield receipt(next, holder);
        if (isFinal(next)) return yield* ending(next);
      }
    } finally {
      finish();
      if (!isFinal(last)) await inbox.cancel(item.id);
    }
  }
  return run();
}

/** The end of a turn by the end of its item. */
export function* ending({ state, reply = "", reason = "", fallenBy }: Item): Generator<TierEvent> {
  if (state === "answered") yield { type: "done", text: reply };
  else if (state === "refused") yield { type: "error", kind: "refused", message: reason };
  else if (state === "fallen") yield { type: "pass", reason: fallenBy ?? "deadline" };
}

const nameOf = ({ session, pid }: Holder): string => `session ${session}${pid === undefined ? "" : ` (process ${pid})`}`;

/** Returns the message's history as a step. */
function receipt(item: Item, holder: Holder): TierEvent {
  const { id, state, fallenBy } = item;
  const by = item.session === undefined ? holder : { session: item.session, ...(item.pid === undefined ? {} : { pid: item.pid }) };
  const what = state === "drained" ? "claimed" : state;
  const output = `${what}${fallenBy === undefined ? "" : `: ${fallenBy}`}, ${nameOf(by)}`;
  return { type: "step", step: { id: `${id} ${what}`, name: `attach ${id}`, phase: "end", output } };
}
