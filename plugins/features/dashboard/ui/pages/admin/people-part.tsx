import type { PairingRequest } from "@svc/sdk";
import { type FormEvent, useState } from "react";
import type { ApiError } from "../../data/api-error.ts";
import { useWriting } from "../../data/me.ts";
import { request } from "../../data/request.ts";
import { useResource } from "../../data/resource.ts";
import { Button } from "../../kit/button.tsx";
import { Field, TextInput } from "../../kit/field.tsx";
import { StateView } from "../../kit/state-view.tsx";
import { Ago, Mono } from "../../kit/values.tsx";
import { PEOPLE } from "../../words/pairing.ts";

/** People who wrote to a channel for the first time and wait, and the field for the code that each of them received. */
export function PeoplePart({ path, channel }: { readonly path: string; readonly channel: string }) {
  const found = useResource<{ readonly waiting: readonly PairingRequest[] }>(path, {
    // Each person who is given a code is told of as one who is not heard yet.
    refreshOn: ({ type, data }) => type === "message:dropped" && data?.["channel"] === channel,
  });
  const [code, setCode] = useState("");
  const [wrong, setWrong] = useState<string>();
  const [confirmed, setConfirmed] = useState<string>();
  const [busy, setBusy] = useState(false);
  const writing = useWriting();
  const waiting = found.data?.waiting ?? [];
  const confirm = async (event: FormEvent) => {
    event.preventDefault();
    if (busy) return;
    setConfirmed(undefined);
    if (code.trim() === "") return setWrong(PEOPLE.codeMissing);
    setBusy(true);
    setWrong(undefined);
    try {
      const { name, sender } = await request<PairingRequest>("POST", path, { code: code.trim() });
      setConfirmed(name ?? sender);
      setCode("");
    } catch (error) {
      setWrong((error as ApiError).message);
    } finally {
      setBusy(false);
      found.reload();
    }
  };
  return (
    <section className="admin-people" aria-label={PEOPLE.title}>
      <h3>{PEOPLE.title}</h3>
      <StateView
        loading={found.loading && found.data === undefined}
        slow={found.slow}
        error={found.data === undefined ? found.error : undefined}
        what={PEOPLE.title}
        onRetry={found.reload}
        onCancel={found.cancel}
        rows={2}
      >
        {waiting.length === 0 ? (
          <p className="meta">{PEOPLE.nobody}</p>
        ) : (
          <ul>
            {waiting.map(({ account, sender, name, chat, at }) => (
              <li key={`${account}/${sender}`}>
                <bdi>{name ?? sender}</bdi>
                <span className="meta">
                  {name !== undefined && (
                    <>
                      {PEOPLE.sender} <Mono>{sender}</Mono>,{" "}
                    </>
                  )}
                  {PEOPLE.chat} <Mono>{chat}</Mono>, {PEOPLE.account} <Mono>{account}</Mono>, <Ago at={Date.parse(at)} />
                </span>
              </li>
            ))}
          </ul>
        )}
        <form onSubmit={confirm}>
          <Field label={PEOPLE.code} hint={PEOPLE.codeHint} error={wrong}>
            {(control) => (
              <TextInput
                {...control}
                className="mono"
                autoComplete="off"
                autoCapitalize="characters"
                spellCheck={false}
                maxLength={64}
                value={code}
                onChange={(event) => setCode(event.target.value)}
              />
            )}
          </Field>
          <Button submit busy={busy} disabledWhy={writing.why}>
            {PEOPLE.confirm}
          </Button>
        </form>
        <p role="status">{confirmed !== undefined && PEOPLE.confirmed(confirmed)}</p>
      </StateView>
    </section>
  );
}
