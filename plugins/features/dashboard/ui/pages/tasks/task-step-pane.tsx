import { Button } from "../../kit/button.tsx";
import { Code } from "../../kit/code.tsx";
import { clock, duration } from "../../kit/figures.ts";
import { Glyph } from "../../kit/glyph.tsx";
import { Pane } from "../../kit/pane.tsx";
import { toast } from "../../kit/toast.ts";
import { copyText } from "../../kit/values.tsx";
import { TASKS } from "../../words/tasks.ts";
import type { TaskView } from "./task-types.ts";
import type { StepRow } from "./waterfall-rows.ts";

const KEPT = 500;

/** One step: what went wrong first, then what went in and came out. */
export function StepPane({
  view,
  rows,
  row,
  onChoose,
  onClose,
}: {
  readonly view: TaskView;
  readonly rows: readonly StepRow[];
  readonly row: StepRow;
  onChoose(id: string): void;
  onClose(): void;
}) {
  const { trace, state } = view;
  const { step } = row;
  const at = rows.findIndex(({ id }) => id === row.id);
  const [before, after] = [rows[at - 1], rows[at + 1]];
  const error = step === undefined ? (row.id === "engine" ? trace.error : undefined) : step.error;
  const took = row.to === undefined ? "" : duration(row.to - row.from);
  const copy = async () => {
    await copyText(JSON.stringify(step ?? { name: row.name, from: row.from, to: row.to }, null, 2));
    toast({ text: TASKS.copied });
  };
  return (
    <Pane
      className="task-pane"
      label={TASKS.stepOf(row.name)}
      title={
        <span className="task-pane-title">
          {error !== undefined && <Glyph state={state === "cancelled" ? "cancelled" : "failed"} />}
          <bdi className="cut">{row.name}</bdi>
        </span>
      }
      actions={
        <>
          <Button kind="plain" icon="copy" aria-label={TASKS.copyJson} onClick={copy} />
          <Button kind="plain" icon="close" aria-label={TASKS.closeStep} onClick={onClose} />
        </>
      }
    >
      {error !== undefined && (
        <div className="task-error">
          <strong>{step === undefined ? (state === "cancelled" ? TASKS.cancelledTask : TASKS.failedTask) : TASKS.failedStep(took)}</strong>
          <pre tabIndex={0} role="region" aria-label={TASKS.failedTask}>
            {error}
          </pre>
        </div>
      )}
      {step !== undefined && error !== undefined && state === "ok" && <p className="task-pane-note">{TASKS.wentOn}</p>}
      <dl className="task-pane-facts">
        <div>
          <dt>{TASKS.began}</dt>
          <dd>{clock(row.from)}</dd>
        </div>
        <div>
          <dt>{TASKS.took}</dt>
          <dd>{took === "" ? "-" : took}</dd>
        </div>
        <div>
          <dt>{TASKS.kind}</dt>
          <dd>{step?.kind ?? TASKS.legend[row.kind]}</dd>
        </div>
      </dl>
      {step !== undefined && (
        <>
          <Part title={TASKS.input} value={step.envelope?.input ?? step.input} none={TASKS.noInput} />
          <Part title={TASKS.output} value={step.envelope?.output ?? step.output} none={TASKS.noOutput} />
        </>
      )}
      {(before !== undefined || after !== undefined) && (
        <>
          <h3 className="task-pane-part">{TASKS.around}</h3>
          <p className="task-around">
            {[before, after].map(
              (other, place) =>
                other !== undefined && (
                  <Button key={other.id} kind="plain" icon={place === 0 ? "up" : "down"} onClick={() => onChoose(other.id)}>
                    <span className="unseen">{place === 0 ? TASKS.before : TASKS.after}: </span>
                    <bdi className="cut">{other.name}</bdi>
                  </Button>
                ),
            )}
          </p>
        </>
      )}
    </Pane>
  );
}

function Part({ title, value, none }: { readonly title: string; readonly value: unknown; readonly none: string }) {
  const text = typeof value === "string" ? value : undefined;
  if (value === undefined || text === "") return <p className="task-pane-note">{none}</p>;
  return (
    <>
      {text === undefined ? <Code label={title} json={value} /> : <Code label={title} text={text} />}
      {text?.length === KEPT + 1 && text.endsWith("…") && <p className="task-pane-note">{TASKS.first500}</p>}
    </>
  );
}
