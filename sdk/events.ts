/** One event on the bus (000:L266-276). */
export interface Envelope {
  readonly id: string;
  readonly rootId: string;
  readonly parentId?: string;
  readonly node: string;
  readonly agentId?: string;
  readonly kind: string;
  readonly type: string;
  /** ISO 8601. */
  readonly at: string;
  /** At most 280 code points; never a prompt or an answer. */
  readonly summary: string;
  readonly ref?: string;
  /** Only on `announce`: the whole text. */
  readonly text?: string;
  /** Facts for plain streams and typed subscribers: ids, numbers, states. Never a prompt, an answer or a secret. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** The publishing plugin, set by the daemon; absent on the daemon's own events. */
  readonly source?: string;
}

/** Input of `publish`; the bus adds id, root, parent, node, time and source. Types `task:*`, `plugin:*` and `delivery:*` are reserved for the daemon. */
export interface Publication {
  /**
   * For an event about a stored row, published after the commit: the id of the row, as `<word>_<10 to 64 of a-z, 0-9 and ->:<number>`. Published once
   * more after a restart, it is deduplicated by it. Default: the bus makes one.
   */
  readonly id?: string;
  readonly kind: string;
  readonly type: string;
  readonly summary: string;
  readonly agentId?: string;
  readonly ref?: string;
  readonly text?: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** A page of events for a reader that polls. */
export interface EventPage {
  /** Oldest first. */
  readonly events: readonly Envelope[];
  /** The `since` of the next page: the last event's id, else the one that was given, else null. */
  readonly next: string | null;
  /** Events that were not read have left the buffer. */
  readonly gap?: true;
}

/** Capability `events`. Listeners end with the plugin. A listener that throws is counted against its plugin and does not disturb the others. */
export interface Events {
  /** Throws `SVC_EVENT_INVALID` for an event without kind, type and summary, or without a JSON form (a cycle, a BigInt). */
  publish(event: Publication): Envelope;
  /**
   * Receives every envelope, or those of one `type`. Returns the function that unsubscribes. `siblings`: also events of other daemons on the same
   * state, for listeners that display events; listeners that act on them act where they happened.
   */
  subscribe(listener: (envelope: Envelope) => void, type?: string, options?: { readonly siblings?: boolean }): () => void;
  /** Buffered events after `since` (an event id), oldest first; `gap` when that id has left the buffer. Without `since`: all of them. */
  recent(since?: string): { readonly events: readonly Envelope[]; readonly gap?: true };
  /**
   * A page of the buffered events that `matches` accepts, for a reader that polls: without `since` the newest, with it the oldest after it; at most
   * 50, or `limit`.
   */
  page(matches: (envelope: Envelope) => boolean, since?: string, limit?: number): EventPage;
  /** The root event that the running code works for, such as that of a message; undefined outside of one. Store it to continue later with `within`. */
  current(): { readonly rootId: string; readonly parentId?: string } | undefined;
  /**
   * Injects an event of another machine unchanged: id, root, cause and machine stay, listeners and the buffer receive it. Requires the permission
   * `events:peers`. False for a duplicate, or an event of this machine that came back. Throws `SVC_EVENT_FOREIGN` for anything that is not an
   * envelope.
   */
  inject(envelope: Envelope): boolean;
  /** Run `entry` under a new root: for entry points (a cron fire, a webhook) that hand no message to `tasks`. */
  root<T>(entry: () => T): T;
  /** Runs `work` under a root from elsewhere (a peer, a stored workflow run). */
  within<T>(root: { readonly rootId: string; readonly parentId?: string }, work: () => T): T;
}
