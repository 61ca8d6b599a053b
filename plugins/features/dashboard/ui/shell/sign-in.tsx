import { type FormEvent, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { type SignInWanted, session } from "../data/session.ts";
import { Button } from "../kit/button.tsx";
import { Dialog } from "../kit/dialog.tsx";
import { Field, TextInput } from "../kit/field.tsx";
import { clock } from "../kit/figures.ts";
import { SHELL } from "../words/shell.ts";

/** Asks for a token above the untouched page, when the server refuses the one there is. */
export function SignIn() {
  const wanted = useSyncExternalStore(session.subscribe, session.wanted);
  const [token, setToken] = useState("");
  const [error, setError] = useState<string>();
  const [busy, setBusy] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const open = wanted !== undefined;
  const [free, setFree] = useState(false);
  useEffect(() => {
    setFree(false);
    if (!open) return;
    input.current?.focus();
    // A machine that needs no token may go on without one.
    if (session.token() !== undefined) void refusal(undefined).then((why) => setFree(why === undefined));
  }, [open]);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const given = token.trim();
    if (given === "") return setError(SHELL.tokenShort);
    setBusy(true);
    const why = await refusal(given);
    setBusy(false);
    setError(why);
    if (why !== undefined) return undefined;
    setToken("");
    return session.signIn(given);
  };
  return (
    <Dialog
      open={open}
      closable={wanted?.asked === true}
      onClose={session.keep}
      title={SHELL.signIn}
      actions={
        <>
          {free && <Button onClick={() => session.signOut()}>{SHELL.withoutToken}</Button>}
          <Button kind="primary" busy={busy} onClick={(event) => void submit(event)}>
            {SHELL.signIn}
          </Button>
        </>
      }
    >
      <form className="shell-sign-in" onSubmit={(event) => void submit(event)}>
        <p>{reasonOf(wanted)}</p>
        <Field label={SHELL.token} hint={SHELL.tokenHint} error={error}>
          {(control) => (
            <TextInput
              {...control}
              ref={input}
              type="password"
              name="token"
              autoComplete="current-password"
              value={token}
              onChange={(event) => setToken(event.target.value)}
            />
          )}
        </Field>
      </form>
    </Dialog>
  );
}

function reasonOf(wanted: SignInWanted | undefined): string {
  if (wanted?.asked === true) return SHELL.useOther;
  if (wanted?.link === true) return wanted.why;
  return wanted?.ended === true ? SHELL.signInEnded(clock(wanted.at), wanted.why.replace(/\.$/, "")) : SHELL.signInFirst;
}

/** Why the server does not take a token; undefined when it does. */
async function refusal(token: string | undefined): Promise<string | undefined> {
  try {
    const answer = await fetch("/api/me", { headers: token === undefined ? {} : { authorization: `Bearer ${token}` }, credentials: "omit", cache: "no-store" });
    if (answer.ok) return undefined;
    const body = (await answer.json().catch(() => ({}))) as { error?: string };
    return body.error ?? SHELL.tokenWrong;
  } catch {
    return `${location.host} does not answer.`;
  }
}
