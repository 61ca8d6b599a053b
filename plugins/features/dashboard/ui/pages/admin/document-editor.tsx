import { useEffect, useMemo, useRef, useState } from "react";
import { pathText, readPath } from "../../forms/form-path.ts";
import { classes } from "../../kit/class-names.ts";
import { Icon } from "../../kit/icon.tsx";
import { ADMIN } from "../../words/admin.ts";
import { linesByPath } from "./document-lines.ts";
import { readText } from "./document-text.ts";
import type { Draft } from "./draft.ts";

interface Finding {
  readonly line: number;
  readonly column: number;
  readonly message: string;
  readonly severity: "error" | "warning";
}

/**
 * Editor of svc.json as text. Its value becomes the draft: it is tried, compared and saved as the forms are, and errors appear at their lines. Only
 * values count; the file keeps its comments and spacing.
 */
export function DocumentEditor({ draft, line }: { readonly draft: Draft; readonly line: number }) {
  const { base, document, changes, put, errors, broken } = draft;
  const [text, setText] = useState(() => (changes.length === 0 ? (base.text ?? "") : JSON.stringify(document, null, 2)));
  const field = useRef<HTMLTextAreaElement>(null);
  // The file was written, or the draft discarded: update the text, unless the person is typing.
  const typed = useRef(false);
  useEffect(() => {
    if (changes.length === 0 && !broken) typed.current = false;
    if (!typed.current) setText(changes.length === 0 ? (base.text ?? "") : JSON.stringify(document, null, 2));
  }, [base.text, changes.length, document, broken]);
  const read = useMemo(() => readText(text), [text]);
  const findings = useMemo<readonly Finding[]>(() => {
    if ("problem" in read) return [{ ...read.problem, severity: "error" }];
    const places = linesByPath(text);
    return errors.map(({ path, message, severity = "error" }) => ({
      message: path === "" ? message : `${path}: ${message}`,
      severity,
      column: 1,
      line: lineOf(path, places),
    }));
  }, [read, errors, text]);
  const goTo = (wanted: number) => {
    const element = field.current;
    if (element === null || wanted < 1) return;
    const start =
      text
        .split("\n")
        .slice(0, wanted - 1)
        .join("\n").length + (wanted === 1 ? 0 : 1);
    element.focus();
    element.setSelectionRange(start, start);
    element.parentElement?.querySelector(`[data-line="${wanted}"]`)?.scrollIntoView({ block: "center" });
  };
  const began = useRef(false);
  useEffect(() => {
    if (!began.current) goTo(line);
    began.current = true;
  });
  const type = (next: string) => {
    typed.current = true;
    setText(next);
    const now = readText(next);
    if ("value" in now) put([], now.value);
    draft.setBroken("problem" in now);
  };
  useEffect(() => () => draft.setBroken(false), [draft.setBroken]);
  const wrong = new Map(findings.map((finding) => [finding.line, finding] as const));
  const numbers = text.split("\n").map((_, at) => at + 1);
  return (
    <>
      <section className="admin-problems" aria-label={ADMIN.problems} role="status">
        {findings.length === 0 ? (
          <p className="meta">{ADMIN.noProblems}</p>
        ) : (
          <ul>
            {findings.map((finding) => (
              <li key={`${finding.line} ${finding.message}`} className={finding.severity === "warning" ? "form-warning" : "form-error"}>
                <Icon name="warn" size={14} />
                <span>
                  <button type="button" className="form-link" onClick={() => goTo(finding.line)}>
                    {ADMIN.line(finding.line)}
                    {finding.column > 1 && `:${finding.column}`}
                  </button>{" "}
                  {finding.message}
                </span>
              </li>
            ))}
          </ul>
        )}
        <p className="meta">{ADMIN.editNote}</p>
      </section>
      <div className="admin-text admin-text-edit">
        <div className="admin-text-gutter" aria-hidden="true">
          {numbers.map((number) => (
            <span key={number} data-line={number} className={classes("admin-text-number", wrong.has(number) && `admin-text-${wrong.get(number)?.severity}`)}>
              {number}
            </span>
          ))}
        </div>
        <textarea
          ref={field}
          className="admin-text-field"
          aria-label={ADMIN.wholeFile}
          aria-invalid={findings.some(({ severity }) => severity === "error") || undefined}
          spellCheck={false}
          autoComplete="off"
          wrap="off"
          rows={numbers.length}
          value={text}
          onChange={(event) => type(event.target.value)}
        />
      </div>
    </>
  );
}

/** Of a path, or of the nearest above it. */
function lineOf(path: string, places: ReturnType<typeof linesByPath>): number {
  const keys = readPath(path);
  for (let length = keys.length; length > 0; length -= 1) {
    const found = places.get(pathText(keys.slice(0, length)));
    if (found !== undefined) return found[0];
  }
  return 1;
}
