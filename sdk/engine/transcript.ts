import { createHash, randomUUID } from "node:crypto";
import type { Store } from "../store.ts";
import type { TurnContext } from "../tier.ts";
import { conversationRows } from "./conversation-rows.ts";

/** Transcript of a conversation since its session began. */
interface Stored {
  /** The session as the daemon knows it. */
  readonly id: string;
  /** The program's own session that holds it now. */
  readonly native: string;
  /** Digest of the system prompt that the session was sent last. */
  readonly digest: string;
  readonly exchanges: readonly { readonly user: string; readonly answer: string }[];
}

/**
 * Preamble of a turn, for a program that takes no system prompt or cannot be trusted to load a session again: the instructions are sent once and
 * after each change, the previous exchanges whenever the program no longer holds the session.
 */
export interface Transcript {
  /** Stays the same however often the program's own session changes. */
  readonly id: string;
  /** The program's own session that held it last. */
  readonly native?: string;
  /** `held` says that the program still has the session. */
  opening(held: boolean): string;
  /** Stores the program's session id `native`, and appends this exchange to the transcript, within its limits. */
  keep(native: string, said?: { readonly user: string; readonly answer: string }): Promise<void>;
}

const EXCHANGES = 20;
const LENGTH = 24_000;

/** Reads the stored transcript of the conversation that `context` continues; an empty one where it starts a new session. */
export async function readTranscript(store: Store, conversation: string, context: TurnContext): Promise<Transcript> {
  const stored = conversationRows<Stored>(store, "conversations");
  const found = context.session === undefined ? undefined : await stored.get(conversation);
  const before = found?.id === context.session ? found : undefined;
  const id = before?.id ?? randomUUID();
  const digest = createHash("sha256").update(context.system).digest("hex");
  return {
    id,
    ...(before === undefined ? {} : { native: before.native }),
    opening(held) {
      if (held && before?.digest === digest) return "";
      const instructions =
        context.system === "" ? "" : `${held ? "These instructions replace the ones you were given before:\n\n" : ""}${context.system}\n\n---\n\n`;
      return held ? instructions : `${instructions}${replay(before?.exchanges ?? historyOf(context))}`;
    },
    async keep(native, said) {
      const exchanges = [...(before?.exchanges ?? []), ...(said === undefined ? [] : [said])].slice(-EXCHANGES);
      while (exchanges.length > 1 && lengthOf(exchanges) > LENGTH) exchanges.shift();
      await stored.put(conversation, { id, native, digest, exchanges });
    },
  };
}

const lengthOf = (exchanges: Stored["exchanges"]): number => exchanges.reduce((sum, { user, answer }) => sum + user.length + answer.length, 0);

function historyOf({ history, session }: TurnContext): Stored["exchanges"] {
  if (session === undefined) return [];
  return history.map(({ role, text }) => (role === "user" ? { user: text, answer: "" } : { user: "", answer: text }));
}

function replay(exchanges: Stored["exchanges"]): string {
  if (exchanges.length === 0) return "";
  const lines = exchanges.flatMap(({ user, answer }) => [...(user === "" ? [] : [`User: ${user}`]), ...(answer === "" ? [] : [`You: ${answer}`])]);
  return `This conversation goes on. What was said before, oldest first:\n\n${lines.join("\n\n")}\n\n---\n\n`;
}
