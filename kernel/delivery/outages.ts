import { conversationKey, type OutboxEntry } from "./outbox-entry.ts";

/** Distinguishes the outage of a whole account from that of one chat. */
export interface Outages {
  /** A send failed and the entry waits; `attempt` is the number of its claim. */
  failed(entry: OutboxEntry, attempt: number): void;
  /** A send arrived. Answers the deliveries that waited because the whole account was away, each with its last claim. */
  passed(entry: OutboxEntry): ReadonlyMap<string, number>;
}

interface Trouble {
  /** The conversations that failed since the last send that arrived. */
  readonly conversations: Set<string>;
  readonly waiting: Map<string, number>;
}

/** An account is away when at least two of its conversations fail and nothing arrives in between: a chat that fails alone is not tried more often for it. */
const CONVERSATIONS = 2;

/** Outages of one channel, with nothing known yet. */
export function createOutages(): Outages {
  const accounts = new Map<string, Trouble>();
  const accountOf = ({ delivery }: OutboxEntry) => delivery.target.account ?? "";
  return {
    failed(entry, attempt) {
      const account = accountOf(entry);
      const trouble = accounts.get(account) ?? { conversations: new Set(), waiting: new Map() };
      trouble.conversations.add(conversationKey(entry.delivery.target));
      trouble.waiting.set(entry.delivery.id, attempt);
      accounts.set(account, trouble);
    },
    passed(entry) {
      const account = accountOf(entry);
      const trouble = accounts.get(account);
      accounts.delete(account);
      if (trouble === undefined || trouble.conversations.size < CONVERSATIONS) return new Map();
      trouble.waiting.delete(entry.delivery.id);
      return trouble.waiting;
    },
  };
}
