import { type FormPath, readPath } from "../../forms/form-path.ts";
import { Button } from "../../kit/button.tsx";
import { Glyph } from "../../kit/glyph.tsx";
import { ADMIN } from "../../words/admin.ts";
import type { Draft } from "./draft.ts";

/** Bar at the foot of the page: errors, unsaved changes, and the age of the loaded file. */
export function SaveBar({
  draft,
  onReview,
  onJump,
  disabledWhy,
}: {
  readonly draft: Draft;
  onReview(): void;
  onJump(path: FormPath): void;
  readonly disabledWhy: string | undefined;
}) {
  const { changes, errors, readAt } = draft;
  const wrong = errors.filter(({ severity }) => severity !== "warning");
  if (changes.length === 0 && wrong.length === 0 && !draft.broken) return null;
  const [first] = wrong;
  const clock = new Date(readAt).toLocaleTimeString(undefined, { hour12: false });
  return (
    <footer className="admin-bar">
      {first !== undefined && (
        <button type="button" className="admin-bar-errors" title={`${first.path}: ${first.message}`} onClick={() => onJump(readPath(first.path))}>
          <Glyph state="failed" word label={ADMIN.errors(wrong.length)} />
        </button>
      )}
      <span className="meta grow cut">
        {ADMIN.changes(changes.length)} · {ADMIN.readAt(clock)}
      </span>
      {(changes.length > 0 || draft.broken) && (
        <>
          <Button onClick={draft.discard}>{ADMIN.discard}</Button>
          <Button kind="primary" disabledWhy={disabledWhy ?? (draft.broken ? ADMIN.brokenText : undefined)} onClick={onReview}>
            {ADMIN.review} <kbd>Ctrl S</kbd>
          </Button>
        </>
      )}
    </footer>
  );
}
