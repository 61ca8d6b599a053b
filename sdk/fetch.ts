/** Capability `fetch`: as the global one, but to public addresses only, checked on every hop; see `FetchInit`. */
export type GuardedFetch = (url: string, init?: FetchInit) => Promise<FetchAnswer>;

/** Type of `ctx.fetch`: the buffered answer, or with `stream` the answer as it arrives. */
export interface StreamingFetch extends GuardedFetch {
  /**
   * Resolves with the head as soon as it arrives; the body is read piece by piece, at the pace of its reader. For event streams, long polls and
   * downloads. Every hop is guarded as in `fetch`. Ends with the plugin.
   */
  stream(url: string, init?: FetchStreamInit): Promise<FetchStream>;
}

/** Request of `fetch`, and its limits. */
export interface FetchInit {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly signal?: AbortSignal;
  /** Decoded bytes after which reading stops; default 1,048,576. */
  readonly maxBytes?: number;
  /** The whole exchange, in milliseconds; default 30,000. */
  readonly timeoutMs?: number;
  readonly maxRedirects?: number;
  /** `manual`: a redirect is returned as it is, with its `location`, and not followed. Default `follow`. */
  readonly redirect?: "follow" | "manual";
  /**
   * Origins that the operator wrote into the configuration, such as a bot server on this machine: exempt from the address
   * check. Never from a message, a model or a redirect. Of an isolated plugin those count that stand in its section or in the `network`
   * of its manifest, and none that leads to this machine.
   */
  readonly trustedOrigins?: readonly string[];
}

/** Request of `fetch.stream`, and its limits. */
export interface FetchStreamInit extends Omit<FetchInit, "maxBytes" | "timeoutMs"> {
  /** Timeout for the head, over all redirects, in milliseconds; default 30,000. */
  readonly timeoutMs?: number;
  /** Idle timeout of the body in milliseconds; default 60,000. */
  readonly idleMs?: number;
  /** Decoded bytes after which the body fails with `SVC_FETCH_TOO_LARGE`. Default: no limit. */
  readonly maxBytes?: number;
}

/** Head of an answer: everything before its body. */
export interface FetchHead {
  readonly status: number;
  readonly statusText: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** The final address after redirects. */
  readonly url: string;
}

/** A whole answer, or its beginning where it is longer than `maxBytes`. */
export interface FetchAnswer extends FetchHead {
  readonly body: Uint8Array;
  /** `body` as UTF-8, cut on a character boundary. */
  text(): string;
  readonly truncated: boolean;
}

/** An answer whose body is still to come. */
export interface FetchStream extends FetchHead {
  /** Read once. To leave it early ends the connection; one that breaks off throws. */
  readonly body: AsyncIterable<Uint8Array>;
}
