import type { SettingsReport } from "@svc/sdk";
import { type ReactNode, useMemo, useState } from "react";
import type { ApiError } from "../../data/api-error.ts";
import { useWritingSettings } from "../../data/me.ts";
import { request } from "../../data/request.ts";
import type { FormSurroundings, SecretState } from "../../forms/form-context.ts";
import { type FormPath, pathText } from "../../forms/form-path.ts";
import { Button } from "../../kit/button.tsx";
import { Dialog } from "../../kit/dialog.tsx";
import { Field, TextInput } from "../../kit/field.tsx";
import { ADMIN } from "../../words/admin.ts";
import type { Draft } from "./draft.ts";
import { tell } from "./save-dialogs.tsx";

const REFERENCE = /^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$/;

interface Asked {
  readonly path: FormPath;
  readonly move: boolean;
  readonly name: string;
}

/** States of credentials, and the dialog that replaces one or moves it to `.env`: written at once, the value is never shown. */
export function useSecrets(draft: Draft): { readonly secrets: NonNullable<FormSurroundings["secrets"]>; readonly dialog: ReactNode } {
  const [asked, setAsked] = useState<Asked>();
  const secrets = useMemo<NonNullable<FormSurroundings["secrets"]>>(() => {
    const known = new Map(draft.base.secrets.map((secret) => [secret.path, secret]));
    const missing = (path: string) => draft.base.problems.some((problem) => problem.path === path && /not set|is empty/.test(problem.message));
    return {
      state(path, value): SecretState {
        const text = pathText(path);
        const found = known.get(text);
        const reference = typeof value === "string" ? (REFERENCE.exec(value)?.[1] ?? found?.reference) : found?.reference;
        if (value === undefined) return { set: false };
        return { set: found?.set ?? value !== "", ...(reference === undefined ? {} : { reference, known: !missing(text) }) };
      },
      replace: (path, state) => setAsked({ path, move: false, name: state.reference ?? proposedName(path) }),
      move: (path) => setAsked({ path, move: true, name: proposedName(path) }),
    };
  }, [draft.base]);
  return {
    secrets,
    dialog: asked === undefined ? null : <SecretDialog key={pathText(asked.path)} asked={asked} draft={draft} onClose={() => setAsked(undefined)} />,
  };
}

/** `channels.botmsg.accounts.main.token` is `BOTMSG_MAIN_TOKEN`. */
function proposedName(path: FormPath): string {
  const parts = path.filter((part) => !["channels", "accounts", "agents", "peers", "providers"].includes(String(part))).map(String);
  return parts
    .join("_")
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replace(/[^A-Za-z0-9]+/g, "_")
    .toUpperCase()
    .replace(/^(\d)/, "_$1");
}

function SecretDialog({ asked, draft, onClose }: { readonly asked: Asked; readonly draft: Draft; onClose(): void }) {
  const { path, move } = asked;
  const text = pathText(path);
  const [name, setName] = useState(asked.name);
  const [value, setValue] = useState("");
  const [failure, setFailure] = useState<string>();
  const [busy, setBusy] = useState(false);
  const writing = useWritingSettings();
  const dirty = draft.changes.length > 0;
  const keep = async () => {
    setBusy(true);
    setFailure(undefined);
    try {
      const report = await request<SettingsReport>("POST", "/api/admin/secrets", { name, path: text, ...(move ? {} : { value }) });
      tell(report);
      await draft.reread();
      onClose();
    } catch (error) {
      setFailure((error as ApiError).message);
    } finally {
      setBusy(false);
    }
  };
  const why = writing.why ?? (dirty ? ADMIN.secretFirst : undefined);
  const actions = (
    <>
      <Button onClick={onClose}>{ADMIN.back}</Button>
      <Button kind="primary" busy={busy} disabledWhy={why} onClick={keep}>
        {move ? ADMIN.secretMoveDo : ADMIN.secretKeep}
      </Button>
    </>
  );
  return (
    <Dialog title={ADMIN.secretTitle(text)} open onClose={onClose} actions={actions}>
      <form
        className="admin-secret"
        onSubmit={(event) => {
          event.preventDefault();
          if (why === undefined && !busy) void keep();
        }}
      >
        {move && <p>{ADMIN.secretMove(text)}</p>}
        {dirty && <p className="admin-note">{ADMIN.secretFirst}</p>}
        <Field label={ADMIN.secretVariable} hint={ADMIN.secretVariableHint} error={failure}>
          {(control) => <TextInput {...control} className="mono" value={name} onChange={(event) => setName(event.target.value)} />}
        </Field>
        {!move && (
          <Field label={ADMIN.secretValue} hint={ADMIN.secretValueHint}>
            {(control) => (
              <TextInput {...control} type="password" autoComplete="new-password" value={value} onChange={(event) => setValue(event.target.value)} />
            )}
          </Field>
        )}
        <button type="submit" hidden />
      </form>
    </Dialog>
  );
}
