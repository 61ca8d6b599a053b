import type { Trace, Traces } from "@svc/sdk";
import { CAP } from "./cap.ts";
import type { Chat, Exchange } from "./history.ts";

/** Traces that are read for one chat at most: those of an agent's other chats are among them. */
const LOOKED_AT = 2_000;
const PAGE = 200;
const TWO_DAYS_MS = 2 * 86_400_000;

/** Ends of turns that were stopped in the middle. */
const STOPPED: ReadonlySet<string> = new Set(["cancelled", "timeout", "cut"]);

/** The answer of a turn that was stopped, as the history has it; undefined for a turn that ended otherwise. */
export const stoppedAnswer = (errorKind: string | undefined, said: string): string | undefined => {
  if (!STOPPED.has(errorKind ?? "")) return undefined;
  return said === "" ? "[I was stopped before I had answered.]" : `${said}\n[I was stopped here, before the end of my answer.]`;
};

/**
 * The newest exchanges of a chat, oldest first, by the traces that all daemons of the same state have in common: a conversation that comes from
 * another node has its history in the files of that one. Without the names of those who asked, which a trace does not hold.
 */
export async function saidAnywhere(traces: Traces, { agent, channel, chat }: Chat, now: number): Promise<readonly Exchange[]> {
  const found: Exchange[] = [];
  const asked = new Map<string, string[]>();
  let characters = 0;
  let below: string | undefined;
  for (let looked = 0; looked < LOOKED_AT && characters < CAP; looked += PAGE) {
    const page = await traces.list({ agent, channel, since: now - TWO_DAYS_MS, limit: PAGE, ...(below === undefined ? {} : { below }) });
    for (const trace of page) {
      if (trace.chat !== chat || characters >= CAP) continue;
      // A message that was collected into the turn of an earlier one: its words belong there.
      if (trace.lead !== undefined) asked.set(trace.lead, [trace.message ?? "", ...(asked.get(trace.lead) ?? [])]);
      else found.push(...exchangeOf(trace, asked.get(trace.id) ?? []));
      characters += (trace.message?.length ?? 0) + (trace.response?.length ?? 0);
    }
    if (page.length < PAGE) break;
    below = page.at(-1)?.id;
  }
  return found.reverse();
}

function exchangeOf({ status, message = "", response = "", errorKind, withheld, endedAt }: Trace, merged: readonly string[]): Exchange[] {
  const answer = status === "ok" && withheld === undefined ? response : stoppedAnswer(errorKind, response);
  if (endedAt === undefined || answer === undefined) return [];
  return [{ at: endedAt, text: [message, ...merged].join("\n\n"), answer }];
}
