import { useState } from "react";
import type { ApiError } from "../../data/api-error.ts";
import { useWriting } from "../../data/me.ts";
import { request } from "../../data/request.ts";
import { useResource } from "../../data/resource.ts";
import { Button } from "../../kit/button.tsx";
import { ConfirmDialog } from "../../kit/dialog.tsx";
import { Glyph } from "../../kit/glyph.tsx";
import { Pane } from "../../kit/pane.tsx";
import { StateView } from "../../kit/state-view.tsx";
import { toast } from "../../kit/toast.ts";
import { Ago } from "../../kit/values.tsx";
import { ADMIN } from "../../words/admin.ts";
import { PARTS } from "../../words/admin-parts.ts";
import { type Scope, TokenDialog } from "./token-dialog.tsx";

/** A token, without its secret. */
interface TokenFacts {
  readonly id: string;
  readonly name: string;
  readonly scope: readonly string[];
  readonly prefix: string;
  readonly createdAt: string;
  readonly expiresAt?: string;
  readonly lastUsedAt?: string;
  readonly status: "active" | "expired" | "revoked";
}

const PATH = "/api/admin/tokens";

/** Tokens with their rights; creates and revokes them. */
export function TokensTab() {
  const { data, error, loading, slow, reload, cancel } = useResource<{ tokens: readonly TokenFacts[]; scopes: readonly Scope[] }>(PATH);
  const [making, setMaking] = useState(false);
  const [ending, setEnding] = useState<TokenFacts>();
  const writing = useWriting();
  const revoke = async () => {
    if (ending === undefined) return;
    setEnding(undefined);
    try {
      await request("POST", `${PATH}/${ending.id}/revoke`);
      toast({ text: PARTS.revoked(ending.name) });
    } catch (failure) {
      toast({ text: (failure as ApiError).message, kind: "error" });
    }
    reload();
  };
  const create = (
    <Button kind="primary" icon="add" disabledWhy={writing.why} onClick={() => setMaking(true)}>
      {`${PARTS.createToken}...`}
    </Button>
  );
  const tokens = [...(data?.tokens ?? [])].reverse();
  return (
    <Pane className="admin-tokens" label="Tokens" actions={create}>
      <StateView
        loading={loading && data === undefined}
        slow={slow}
        error={data === undefined ? error : undefined}
        what="The tokens"
        onRetry={reload}
        onCancel={cancel}
        {...(tokens.length === 0 && data !== undefined ? { empty: <p>{ADMIN.nothing.tokens}</p> } : {})}
      >
        <div className="admin-table" role="region" aria-label={PARTS.allTokens} tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">{PARTS.tokenName}</th>
                <th scope="col">{PARTS.tokenScopes}</th>
                <th scope="col">{PARTS.state}</th>
                <th scope="col">{PARTS.used}</th>
                <th scope="col">{PARTS.ends}</th>
                <th scope="col">
                  <span className="unseen">{PARTS.revoke}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {tokens.map((token) => (
                <tr key={token.id} className={token.status === "active" ? undefined : "admin-ended"}>
                  <td>
                    <bdi className="admin-token-name">{token.name}</bdi>
                    <span className="meta mono">{token.prefix}...</span>
                  </td>
                  <td>
                    {token.scope.map((scope) => (
                      <span key={scope} className="admin-scope" title={summaryOf(scope, data?.scopes)}>
                        <code>{scope}</code>
                      </span>
                    ))}
                  </td>
                  <td>
                    <Glyph
                      state={token.status === "active" ? "ok" : token.status === "expired" ? "timed-out" : "cancelled"}
                      word
                      label={PARTS.status[token.status]}
                    />
                  </td>
                  <td data-label={PARTS.used}>{token.lastUsedAt === undefined ? PARTS.neverUsed : <Ago at={token.lastUsedAt} />}</td>
                  <td data-label={PARTS.ends}>{token.expiresAt === undefined ? PARTS.neverEnds : <Ago at={token.expiresAt} />}</td>
                  <td>
                    {token.status === "active" && (
                      <Button disabledWhy={writing.why} aria-label={`${PARTS.revoke} ${token.name}...`} onClick={() => setEnding(token)}>
                        {`${PARTS.revoke}...`}
                      </Button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </StateView>
      {making && (
        <TokenDialog
          scopes={data?.scopes ?? []}
          onClose={() => {
            setMaking(false);
            reload();
          }}
        />
      )}
      <ConfirmDialog
        title={PARTS.revokeTitle(ending?.name ?? "")}
        action={PARTS.revoke}
        danger
        open={ending !== undefined}
        onClose={() => setEnding(undefined)}
        onConfirm={revoke}
      >
        <p>{PARTS.revokeText}</p>
      </ConfirmDialog>
    </Pane>
  );
}

const summaryOf = (scope: string, scopes: readonly Scope[] = []): string | undefined =>
  scopes.find(({ name }) => name === scope || (name.endsWith("<id>") && scope.startsWith(name.slice(0, -4))))?.summary;
