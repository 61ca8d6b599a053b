import { useState } from "react";
import type { ApiError } from "../../data/api-error.ts";
import { request } from "../../data/request.ts";
import { Button } from "../../kit/button.tsx";
import { Dialog } from "../../kit/dialog.tsx";
import { Field, TextInput } from "../../kit/field.tsx";
import { copyText } from "../../kit/values.tsx";
import { PARTS } from "../../words/admin-parts.ts";

/** A scope of tokens, with the rights of their bearers. */
export interface Scope {
  readonly name: string;
  readonly summary?: string;
}

/** Makes a token and shows its secret this once; closing asks whether it was copied. */
export function TokenDialog({ scopes, onClose }: { readonly scopes: readonly Scope[]; onClose(): void }) {
  const [name, setName] = useState("");
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [ids, setIds] = useState<Readonly<Record<string, string>>>({});
  const [days, setDays] = useState("");
  const [failure, setFailure] = useState<{ readonly field: string; readonly message: string }>();
  const [busy, setBusy] = useState(false);
  const [secret, setSecret] = useState<string>();
  const [copied, setCopied] = useState(false);
  const [asking, setAsking] = useState(false);
  const wanted = chosen.flatMap((scope) =>
    scope.endsWith("<id>") ? ((ids[scope] ?? "").trim() === "" ? [] : [`${scope.slice(0, -4)}${ids[scope]?.trim()}`]) : [scope],
  );
  const create = async () => {
    if (wanted.length === 0) {
      setFailure({ field: "scope", message: PARTS.tokenScopesMissing });
      return;
    }
    setBusy(true);
    setFailure(undefined);
    try {
      const made = await request<{ secret: string }>("POST", "/api/admin/tokens", {
        name,
        scopes: wanted,
        ...(days.trim() === "" ? {} : { days: Number(days) }),
      });
      setSecret(made.secret);
    } catch (error) {
      const { field = "name", path = "", message } = error as ApiError;
      setFailure({ field: path.includes("days") || field === "days" ? "days" : field, message });
    } finally {
      setBusy(false);
    }
  };
  const copy = async () => {
    if (secret === undefined) return;
    await copyText(secret);
    setCopied(true);
  };
  const close = () => (secret !== undefined && !copied && !asking ? setAsking(true) : onClose());
  const errorOf = (field: string) => (failure?.field === field ? failure.message : undefined);
  if (secret !== undefined)
    return (
      <Dialog
        title={PARTS.secretTitle}
        open
        onClose={close}
        actions={
          asking ? (
            <>
              <Button onClick={() => setAsking(false)}>{PARTS.backToSecret}</Button>
              <Button kind="danger" onClick={onClose}>
                {PARTS.closeAnyway}
              </Button>
            </>
          ) : (
            <>
              <Button icon="copy" onClick={copy}>
                {copied ? PARTS.copied : PARTS.copySecret}
              </Button>
              <Button kind="primary" onClick={close}>
                {PARTS.done}
              </Button>
            </>
          )
        }
      >
        <p role="status">{asking ? PARTS.copiedQuestion : PARTS.secretNote}</p>
        <code className="admin-secret-shown">{secret}</code>
      </Dialog>
    );
  return (
    <Dialog
      title={PARTS.createTitle}
      open
      onClose={onClose}
      actions={
        <Button kind="primary" busy={busy} onClick={create}>
          {PARTS.create}
        </Button>
      }
    >
      <form
        className="admin-secret"
        onSubmit={(event) => {
          event.preventDefault();
          if (!busy) void create();
        }}
      >
        <Field label={PARTS.tokenName} hint={PARTS.tokenNameHint} error={errorOf("name")}>
          {(control) => <TextInput {...control} value={name} onChange={(event) => setName(event.target.value)} />}
        </Field>
        <fieldset className="admin-scopes">
          <legend className="kit-field-label">{PARTS.tokenScopes}</legend>
          {scopes.map((scope) => (
            <div key={scope.name}>
              <label className="form-check">
                <input
                  type="checkbox"
                  checked={chosen.includes(scope.name)}
                  onChange={(event) => setChosen(event.target.checked ? [...chosen, scope.name] : chosen.filter((one) => one !== scope.name))}
                />
                <span>
                  {capital(scope.summary ?? scope.name)} <code className="meta">{scope.name}</code>
                </span>
              </label>
              {scope.name.endsWith("<id>") && chosen.includes(scope.name) && (
                <TextInput
                  aria-label={PARTS.tokenAgentHint}
                  placeholder={PARTS.tokenAgentHint}
                  value={ids[scope.name] ?? ""}
                  onChange={(event) => setIds({ ...ids, [scope.name]: event.target.value })}
                />
              )}
            </div>
          ))}
          {errorOf("scope") !== undefined && (
            <p className="form-error" role="alert">
              {errorOf("scope")}
            </p>
          )}
        </fieldset>
        <Field label={PARTS.tokenDays} hint={PARTS.tokenDaysHint} error={errorOf("days")}>
          {(control) => <TextInput {...control} inputMode="numeric" value={days} onChange={(event) => setDays(event.target.value)} />}
        </Field>
        <button type="submit" hidden />
      </form>
    </Dialog>
  );
}

const capital = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);
