import "./document.css";
import { useEffect, useMemo, useRef, useState } from "react";
import { navigate } from "../../data/router.tsx";
import { pathText, readPath } from "../../forms/form-path.ts";
import { Button } from "../../kit/button.tsx";
import { classes } from "../../kit/class-names.ts";
import { Icon } from "../../kit/icon.tsx";
import { Pane } from "../../kit/pane.tsx";
import { ADMIN } from "../../words/admin.ts";
import { DocumentEditor } from "./document-editor.tsx";
import { linesByPath } from "./document-lines.ts";
import type { Draft } from "./draft.ts";
import { placeOf } from "./tab-items.ts";

/** The current file, line by line, with errors at their lines; opened at the line of a path. */
export function DocumentPane({ draft, path }: { readonly draft: Draft; readonly path: string | undefined }) {
  const { base } = draft;
  const [editing, setEditing] = useState(false);
  const text = base.text ?? "";
  const places = useMemo(() => linesByPath(text), [text]);
  const marked = useRef<HTMLLIElement>(null);
  const [first, last] = landing(path, places);
  useEffect(() => {
    if (first > 0) marked.current?.scrollIntoView({ block: "center" });
  }, [first]);
  const wrong = new Map(base.problems.flatMap((problem) => (problem.line === undefined ? [] : [[problem.line, problem] as const])));
  const edit = (
    <Button aria-pressed={editing} onClick={() => setEditing(!editing)}>
      {editing ? ADMIN.editDone : ADMIN.edit}
    </Button>
  );
  if (editing)
    return (
      <Pane className="admin-document" title={ADMIN.document} label={ADMIN.document} actions={edit}>
        <DocumentEditor draft={draft} line={first} />
      </Pane>
    );
  return (
    <Pane className="admin-document" title={ADMIN.document} label={ADMIN.document} actions={edit}>
      <section className="admin-problems" aria-label={ADMIN.problems}>
        {base.problems.length === 0 ? (
          <p className="meta">{ADMIN.noProblems}</p>
        ) : (
          <ul>
            {base.problems.map((problem) => (
              <li key={`${problem.path} ${problem.message}`} className={problem.severity === "warning" ? "form-warning" : "form-error"}>
                <Icon name="warn" size={14} />
                <span>
                  <button type="button" className="form-link" onClick={() => open(problem.path, draft)}>
                    <code>{problem.path === "" ? ADMIN.wholeFile : problem.path}</code>
                  </button>
                  {problem.line !== undefined && ` ${problem.line}:${problem.column ?? 1}`} {problem.message}
                </span>
              </li>
            ))}
          </ul>
        )}
        <p className="meta">{ADMIN.documentNote}</p>
      </section>
      <ol className="admin-text" aria-label={ADMIN.wholeFile} tabIndex={0}>
        {text.split("\n").map((line, at) => {
          const number = at + 1;
          const problem = wrong.get(number);
          const here = number >= first && number <= last;
          return (
            <li
              key={number}
              ref={number === first ? marked : undefined}
              className={classes("admin-text-line", here && "admin-text-here", problem !== undefined && `admin-text-${problem.severity}`)}
            >
              <span className="admin-text-number" aria-hidden="true">
                {number}
              </span>
              <code>{line === "" ? " " : line}</code>
              {problem !== undefined && <span className="admin-text-problem">{problem.message}</span>}
            </li>
          );
        })}
      </ol>
    </Pane>
  );
}

/** The lines of a path, of the nearest above it where it is not there; none without one. */
function landing(path: string | undefined, places: ReturnType<typeof linesByPath>): readonly [number, number] {
  if (path === undefined) return [0, -1];
  const keys = readPath(path);
  for (let length = keys.length; length > 0; length -= 1) {
    const found = places.get(pathText(keys.slice(0, length)));
    if (found !== undefined) return found;
  }
  return [0, -1];
}

function open(path: string, draft: Draft): void {
  const { tab, item } = placeOf(readPath(path), draft.document, draft.schema);
  navigate(item === undefined ? `#advanced/document/${encodeURIComponent(path)}` : `#${tab}/${encodeURIComponent(item)}`);
}
