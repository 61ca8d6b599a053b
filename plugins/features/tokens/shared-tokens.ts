import { type Collection, codeOf, type Doc } from "@svc/sdk";
import type { Token } from "./token.ts";
import type { TokenFile } from "./token-file.ts";

const PAGE = 500;

/**
 * Keeps the tokens of this machine's file and those of the store the same, where several daemons use the store: a token that is made or
 * revoked on one is so on all. Nothing is removed by it: who wants a token gone revokes it. The answer looks once; one look at a time.
 */
export function createSharedTokens(rows: Collection<Token>, file: TokenFile): () => Promise<void> {
  return async () => {
    const stored = new Map((await all(rows)).map((row) => [row.key, row]));
    const merged = new Map(file.read().map((token) => [token.id, token]));
    let behind = false;
    for (const { value } of stored.values()) {
      const own = merged.get(value.id);
      const token = own === undefined ? value : joined(own, value);
      behind ||= own === undefined || !same(own, token);
      merged.set(token.id, token);
    }
    // The file first: a token revoked elsewhere is refused here from now on.
    if (behind) await file.change((tokens) => withRows(tokens, stored));
    for (const token of merged.values()) {
      const row = stored.get(token.id);
      if (row !== undefined && same(row.value, token)) continue;
      await rows.put(token.id, token, row?.version ?? "absent").catch((error) => {
        // Another daemon was first: the next look takes what it wrote.
        if (codeOf(error) !== "SVC_STORE_CONFLICT") throw error;
      });
    }
  };
}

function withRows(tokens: readonly Token[], stored: ReadonlyMap<string, Doc<Token>>): readonly Token[] {
  const ids = new Set(tokens.map(({ id }) => id));
  const known = tokens.map((token) => {
    const row = stored.get(token.id);
    return row === undefined ? token : joined(token, row.value);
  });
  return [...known, ...[...stored.values()].filter(({ key }) => !ids.has(key)).map(({ value }) => value)];
}

/** Merges two versions of a token: once revoked it stays so, from the earlier moment on. */
function joined(one: Token, other: Token): Token {
  const revokedAt = [one.revokedAt, other.revokedAt].filter((at) => at !== undefined).sort()[0];
  const lastUsedAt = [one.lastUsedAt, other.lastUsedAt]
    .filter((at) => at !== undefined)
    .sort()
    .at(-1);
  return { ...one, ...(revokedAt === undefined ? {} : { revokedAt }), ...(lastUsedAt === undefined ? {} : { lastUsedAt }) };
}

const same = (one: Token, other: Token): boolean => one.revokedAt === other.revokedAt && one.lastUsedAt === other.lastUsedAt;

async function all(rows: Collection<Token>): Promise<readonly Doc<Token>[]> {
  const found: Doc<Token>[] = [];
  for (let after: string | undefined; ; after = found.at(-1)?.key) {
    const page = await rows.list({ limit: PAGE, ...(after === undefined ? {} : { after }) });
    found.push(...page);
    if (page.length < PAGE) return found;
  }
}
