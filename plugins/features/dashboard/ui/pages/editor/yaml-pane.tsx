import { useEffect, useRef } from "react";
import { EDITOR } from "../../words/editor.ts";
import type { EditorModel } from "./editor-model.ts";
import type { EditorState } from "./editor-state.ts";

/** Text of the definition, with line numbers. The server parses typed text into the graph. */
export function YamlPane({ model, state, readOnly }: { readonly model: EditorModel; readonly state: EditorState; readonly readOnly: boolean }) {
  const { typed, checked, stale, stored, wanted, lock, whole } = state;
  const text = typed ?? checked?.text ?? "";
  const area = useRef<HTMLTextAreaElement>(null);
  const numbers = useRef<HTMLPreElement>(null);
  const lines = text.split("\n").length;
  const json = stored?.format === "json" || (stored === undefined && state.history.now.text === "");
  useEffect(() => {
    const element = area.current;
    if (element === null || wanted?.line === undefined) return;
    const before = element.value.split("\n").slice(0, wanted.line - 1);
    const at = before.reduce((sum, line) => sum + line.length + 1, 0);
    element.setSelectionRange(at, at + (element.value.split("\n")[wanted.line - 1]?.length ?? 0));
    const height = element.scrollHeight / Math.max(1, element.value.split("\n").length);
    element.scrollTop = Math.max(0, (wanted.line - 4) * height);
  }, [wanted]);
  const wrong = new Set((checked?.problems ?? []).filter(({ severity }) => severity === "error").map(({ line }) => line));
  // A change of the graph is not in the text yet: typing now would undo it.
  const waits = stale && typed === undefined;
  const note =
    typed !== undefined && !stale
      ? EDITOR.staleGraph
      : lock !== undefined
        ? EDITOR.lockedBy(lock.reason, lock.line)
        : !whole
          ? EDITOR.notWhole
          : json
            ? EDITOR.keptAsJson
            : undefined;
  return (
    <div className="editor-yaml">
      {note !== undefined && <p className="editor-yaml-note">{note}</p>}
      <div className="editor-yaml-text">
        <pre ref={numbers} className="editor-yaml-numbers" aria-hidden="true">
          {Array.from({ length: lines }, (_, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a line is its number
            <span key={at} className={wrong.has(at + 1) ? "editor-yaml-wrong" : undefined}>
              {at + 1}
              {"\n"}
            </span>
          ))}
        </pre>
        <textarea
          ref={area}
          aria-label={EDITOR.text}
          spellCheck={false}
          wrap="off"
          value={text}
          readOnly={readOnly || waits}
          onScroll={(event) => numbers.current !== null && (numbers.current.scrollTop = event.currentTarget.scrollTop)}
          onChange={(event) => model.type(event.target.value)}
        />
      </div>
    </div>
  );
}
