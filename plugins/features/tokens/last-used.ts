import type { Token } from "./token.ts";
import type { TokenFile } from "./token-file.ts";

/** Remembers when tokens were last used, to the minute, and writes it now and then: no request waits for it. */
export interface LastUsed {
  note(token: Token, now: number): void;
  /** Writes the pending times. Only the time of use is changed: concurrent changes of a token by another process stay. */
  flush(): Promise<void>;
}

const FINENESS_MS = 60_000;

/** `due` is called when there is something to flush, once until it is flushed. */
export function createLastUsed(file: TokenFile, due: () => void): LastUsed {
  let pending = new Map<string, number>();
  return {
    note({ id, lastUsedAt }, now) {
      if (pending.has(id) || (lastUsedAt !== undefined && now - Date.parse(lastUsedAt) < FINENESS_MS)) return;
      if (pending.size === 0) due();
      pending.set(id, now);
    },
    async flush() {
      if (pending.size === 0) return;
      const writing = pending;
      pending = new Map();
      await file.change((tokens) => {
        if (!tokens.some(({ id }) => writing.has(id))) return undefined;
        return tokens.map((token) => {
          const at = writing.get(token.id);
          return at === undefined ? token : { ...token, lastUsedAt: new Date(at).toISOString() };
        });
      });
    },
  };
}
