import type { SettingsPreview, SettingsReport } from "@svc/sdk";
import { useEffect, useState } from "react";
import type { ApiError } from "../../data/api-error.ts";
import { pathText } from "../../forms/form-path.ts";
import { referencesIn } from "../../forms/setting-edits.ts";
import { Button } from "../../kit/button.tsx";
import { Dialog } from "../../kit/dialog.tsx";
import { Icon } from "../../kit/icon.tsx";
import { useKeys } from "../../kit/keys.ts";
import { toast } from "../../kit/toast.ts";
import { ADMIN } from "../../words/admin.ts";
import type { Draft } from "./draft.ts";
import { Lines } from "./lines.tsx";

/** Before a save: what the file gains and loses, what waits for a restart, what somebody else wrote. */
export function SaveDialog({
  draft,
  open,
  stopped,
  onClose,
}: {
  readonly draft: Draft;
  readonly open: boolean;
  /** No daemon runs that would apply the change. */
  readonly stopped: boolean;
  onClose(): void;
}) {
  const [preview, setPreview] = useState<SettingsPreview>();
  const [failure, setFailure] = useState<string>();
  const [busy, setBusy] = useState(false);
  const [meant, setMeant] = useState<ReadonlySet<string>>(new Set());
  const { check, changes, theirWork } = draft;
  const references = changes
    .filter(({ after }) => referencesIn(after).length > 0)
    .map(({ path, after }) => ({ path: pathText(path), names: referencesIn(after) }));
  const conflicts = theirWork?.conflicts ?? [];
  const count = changes.length;
  // Whenever the changes are others, as after a merge, the dry run is made again.
  useEffect(() => {
    if (!open || count === 0) return undefined;
    let current = true;
    setFailure(undefined);
    check().then(
      (answer) => current && setPreview(answer),
      (error: ApiError) => current && setFailure(error.message),
    );
    return () => {
      current = false;
    };
  }, [open, check, count]);
  const wrong = (preview?.problems ?? []).filter(({ fresh }) => fresh === true);
  const unmarked = references.some(({ path }) => !meant.has(path));
  const ready = preview !== undefined && wrong.length === 0 && failure === undefined && conflicts.length === 0 && !unmarked && !busy;
  const save = async () => {
    if (!ready) return;
    setBusy(true);
    try {
      const report = await draft.save(meant);
      if (report === undefined) return;
      tell(report);
      onClose();
    } catch (error) {
      setFailure((error as ApiError).message);
    } finally {
      setBusy(false);
    }
  };
  useKeys({ "Ctrl-Enter": () => void save() }, { scope: "dialog", active: open });
  const why = conflicts.length > 0 ? ADMIN.conflicted(conflicts.length) : unmarked ? ADMIN.references : wrong.length > 0 ? ADMIN.dryRunWrong : undefined;
  const actions = (
    <>
      <Button onClick={onClose}>{ADMIN.back}</Button>
      <Button kind="primary" busy={busy || preview === undefined} disabledWhy={why} onClick={save}>
        {stopped ? ADMIN.saveStopped : ADMIN.save} <kbd>Ctrl Enter</kbd>
      </Button>
    </>
  );
  return (
    <Dialog title={ADMIN.saveTitle(count)} open={open} onClose={onClose} actions={actions} wide>
      <div className="admin-save">
        {theirWork !== undefined && <TheirPart draft={draft} />}
        {failure !== undefined && (
          <p className="admin-refused" role="alert">
            <Icon name="warn" /> <span>{failure}</span>
          </p>
        )}
        {wrong.length > 0 && (
          <div className="admin-refused" role="alert">
            <p>{ADMIN.dryRunWrong}</p>
            <ul>
              {wrong.map(({ path, line, column, message }) => (
                <li key={`${path} ${message}`}>
                  <code>{path}</code>
                  {line !== undefined && ` ${line}:${column ?? 1}`}: {message}
                </li>
              ))}
            </ul>
          </div>
        )}
        {preview !== undefined && <Lines lines={preview.difference} />}
        {references.length > 0 && (
          <fieldset className="admin-references">
            <legend>{ADMIN.references}</legend>
            {references.map(({ path, names }) => (
              <label key={path} className="form-check">
                <input
                  type="checkbox"
                  checked={meant.has(path)}
                  onChange={(event) => setMeant(new Set(event.target.checked ? [...meant, path] : [...meant].filter((one) => one !== path)))}
                />
                <span>{ADMIN.reference(path, names.map((name) => `\${${name}}`).join(", "))}</span>
              </label>
            ))}
          </fieldset>
        )}
        {preview !== undefined && wrong.length === 0 && (
          <p className="admin-note">
            {ADMIN.backup} {stopped ? ADMIN.takenAtStart : ADMIN.takenNow}{" "}
            {!stopped && (preview.restartRequired.length === 0 ? ADMIN.noRestart : `${ADMIN.restart} `)}
            {!stopped && preview.restartRequired.map((path) => <code key={path}>{path} </code>)}
          </p>
        )}
      </div>
    </Dialog>
  );
}

/** Reports the result of a save. */
export function tell(report: SettingsReport): void {
  const { reloadSkipped, restartRequired = [], failed = [], backup } = report;
  const kept = backup === undefined ? {} : { cause: ADMIN.backupAt(backup.split("/").at(-1) ?? backup) };
  // As on the command line: no daemon was running.
  if (reloadSkipped?.startsWith("ECONNREFUSED") === true) toast({ text: ADMIN.savedStopped, ...kept });
  else if (reloadSkipped !== undefined) toast({ text: ADMIN.savedNot(reloadSkipped), kind: "error" });
  else if (restartRequired.length > 0) toast({ text: ADMIN.savedWaits(restartRequired.join(", ")), ...kept });
  else toast({ text: ADMIN.saved, ...kept });
  for (const { plugin, reason } of failed) toast({ text: ADMIN.failed(plugin, reason), kind: "error" });
}

function TheirPart({ draft }: { readonly draft: Draft }) {
  const { theirs = [], conflicts = [] } = draft.theirWork ?? {};
  return (
    <section className="admin-theirs" aria-label={ADMIN.fileChanged}>
      <h3>{ADMIN.fileChanged}</h3>
      <p>{conflicts.length > 0 ? ADMIN.conflicted(conflicts.length) : ADMIN.merged(theirs.length)}</p>
      {theirs.length > 0 && (
        <details open={conflicts.length === 0}>
          <summary>{ADMIN.theirChanges}</summary>
          <ul className="admin-their-changes">
            {theirs.map(({ path, before, after }) => (
              <li key={pathText(path)}>
                <code>{pathText(path)}</code>: <Short value={before} /> {"->"} <Short value={after} />
              </li>
            ))}
          </ul>
        </details>
      )}
      {conflicts.map((conflict) => (
        <div key={pathText(conflict.path)} className="admin-conflict">
          <code>{pathText(conflict.path)}</code>
          <dl>
            {(["yours", "theirs", "base"] as const).map((whose) => (
              <div key={whose}>
                <dt>{ADMIN[whose]}</dt>
                <dd>
                  <Short value={conflict[whose]} />
                </dd>
              </div>
            ))}
          </dl>
          <div className="admin-conflict-choice">
            <Button onClick={() => draft.settle(conflict, "yours")}>{ADMIN.keepYours}</Button>
            <Button onClick={() => draft.settle(conflict, "theirs")}>{ADMIN.keepTheirs}</Button>
          </div>
        </div>
      ))}
    </section>
  );
}

const LONGEST = 200;

function Short({ value }: { readonly value: unknown }) {
  const text = value === undefined ? ADMIN.notHere : JSON.stringify(value);
  return <code title={text}>{text.length > LONGEST ? `${text.slice(0, LONGEST)}...` : text}</code>;
}
