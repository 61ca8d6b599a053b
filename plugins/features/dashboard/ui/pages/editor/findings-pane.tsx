import { allNodes } from "../../graph/graph-types.ts";
import { nameOf } from "../../graph/node-facts.ts";
import { Glyph } from "../../kit/glyph.tsx";
import { EDITOR } from "../../words/editor.ts";
import type { EditorModel } from "./editor-model.ts";
import { type EditorState, problemsOf } from "./editor-state.ts";
import { whereIs } from "./pointer.ts";

/** The server's problems: Enter leads to the node, the field and the line. */
export function FindingsPane({ model, state, onText }: { readonly model: EditorModel; readonly state: EditorState; onText?(): void }) {
  const problems = problemsOf(state);
  const { definition } = state.history.now;
  const errors = problems.filter(({ severity }) => severity === "error").length;
  const names = new Map(allNodes(definition).map((node) => [node.id, nameOf(node)]));
  return (
    <section className="editor-findings" aria-label={EDITOR.findings}>
      <header>
        <h2>{EDITOR.findings}</h2>
        <span className="meta" role="status">
          {state.stale ? EDITOR.checking : problems.length === 0 ? EDITOR.noFindings : EDITOR.counted(errors, problems.length - errors)}
        </span>
      </header>
      {state.checkFailed !== undefined && <p className="editor-check-failed">{EDITOR.notChecked(state.checkFailed)}</p>}
      {problems.length > 0 && (
        <ul>
          {problems.map(({ message, pointer, line, column, severity, code }) => {
            const { scope, node, field } = whereIs(definition, pointer);
            return (
              <li key={`${pointer} ${code} ${message}`}>
                <button
                  type="button"
                  onClick={() => {
                    if (node === undefined) onText?.();
                    model.show(scope, node, field, line);
                  }}
                >
                  <Glyph state={severity === "error" ? "failed" : "waiting"} label={severity} />
                  <strong className="cut editor-finding-node">{node === undefined ? EDITOR.workflowItself : (names.get(node) ?? node)}</strong>
                  <span className="cut grow" title={message}>
                    {message}
                  </span>
                  <span className="figure mono">
                    {line}:{column}
                  </span>
                </button>
              </li>
            );
          })}
        </ul>
      )}
    </section>
  );
}
