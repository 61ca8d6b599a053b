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
  /** The plugin that published it, as the daemon knows it; absent on what the daemon itself tells. */
  readonly source?: string;
}

/** What a publisher gives; the bus adds id, root, parent, node, time and source. Types `task:*`, `plugin:*` and `delivery:*` are the daemon's own. */
export interface Publication {
  /**
   * For what is stored and told after it was: the id of the row, as `<word>_<10 to 64 of a-z, 0-9 and ->:<number>`. Told once more after a
   * restart, it is known as the same event. Default: the bus makes one.
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

/** Events for a reader who comes again. */
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
  publish(event: Publication): Envelope;
  /**
   * Every envelope, or those of one `type`. Returns the way to stop. `siblings`: also what other daemons on the same state tell, for who shows
   * events; who acts on them acts where they happened.
   */
  subscribe(listener: (envelope: Envelope) => void, type?: string, options?: { readonly siblings?: boolean }): () => void;
  /** What is still in the buffer after `since` (an event id), oldest first; `gap` when that id has left it. Without `since`: all of it. */
  recent(since?: string): { readonly events: readonly Envelope[]; readonly gap?: true };
  /**
   * A page of the buffer for a reader who comes again, of what `matches`: without `since` the newest, with it the oldest after it; at most
   * 50, or `limit`.
   */
  page(matches: (envelope: Envelope) => boolean, since?: string, limit?: number): EventPage;
  /** The root that the running code works for, such as that of a message; undefined where there is none. For what is stored and goes on later with `within`. */
  current(): { readonly rootId: string; readonly parentId?: string } | undefined;
  /**
   * Takes in what another machine published, as it is: its id, root, cause and machine stay, listeners and the buffer have it. Asks for the
   * permission `events:peers`. False for an event that was here before, or that this machine published: it came back. Throws
   * `SVC_EVENT_FOREIGN` for anything that is not an envelope.
   */
  inject(envelope: Envelope): boolean;
  /** Run `entry` under a new root: for entry points (a cron fire, a webhook) that hand no message to `tasks`. */
  root<T>(entry: () => T): T;
  /** Run under a root that came from elsewhere (a peer, a stored workflow run). */
  within<T>(root: { readonly rootId: string; readonly parentId?: string }, work: () => T): T;
}
