import { type MouseEvent, useEffect, useRef } from "react";
import { useWriting } from "../../data/me.ts";
import { request } from "../../data/request.ts";
import { Link, navigate } from "../../data/router.tsx";
import { AgentMark } from "../../kit/agent-mark.tsx";
import { Button } from "../../kit/button.tsx";
import { Glyph } from "../../kit/glyph.tsx";
import { Menu } from "../../kit/menu.tsx";
import { toast } from "../../kit/toast.ts";
import { Duration } from "../../kit/values.tsx";
import { LIVE } from "../../words/live-words.ts";
import type { TaskNow } from "./live-types.ts";
import "./running.css";

/** A task as a card keeps it: also for a while after its end, at the same place. */
export interface KeptTask {
  readonly task: TaskNow;
  /** When it was seen to have ended. */
  readonly endedAt?: number;
}

/** Asks the daemon to stop a task; a failure is told. */
export async function stopTask(task: string): Promise<void> {
  try {
    await request("POST", `/api/tasks/${encodeURIComponent(task)}/stop`);
  } catch (error) {
    toast({ kind: "error", text: LIVE.notStopped, cause: (error as Error).message });
  }
}

/** One task that runs or waits: whose it is, what was asked, its newest steps, and how to stop it. */
export function RunningTask({
  kept: { task, endedAt },
  name,
  stopping,
  onStop,
  onTalk,
}: {
  readonly kept: KeptTask;
  readonly name: string;
  readonly stopping: boolean;
  onStop(task: TaskNow): void;
  onTalk(agent: string): void;
}) {
  const writing = useWriting();
  const settling = useRef({ shown: "", at: 0 });
  const { id, agent, state, channel, chat, sender, startedAt, text } = task;
  const ended = endedAt !== undefined;
  // A control that has just come under the pointer does not take the click that was meant for what was there before.
  const changed = `${ended} ${stopping}`;
  useEffect(() => {
    // From the frame on in which it can be seen: a busy machine draws it long after it was made.
    const frame = requestAnimationFrame(() => {
      settling.current = { shown: changed, at: performance.now() };
    });
    return () => cancelAnimationFrame(frame);
  }, [changed]);
  const ignoreEarly = (event: MouseEvent) => {
    // A click without a count comes from a key, or from what speaks for the person: it was meant for the control that has the focus.
    const { shown, at } = settling.current;
    if (event.detail === 0 || (shown === changed && performance.now() - at > SETTLE_MS)) return;
    event.preventDefault();
    event.stopPropagation();
  };
  const from = LIVE.fromWords(channel, sender ?? chat);
  return (
    <article className="live-task" data-task={id} aria-label={`${name}: ${text}`} onClickCapture={ignoreEarly}>
      <header className="live-task-head">
        <Glyph state={state} />
        <AgentMark agent={agent} />
        <button type="button" className="live-task-agent cut" onClick={() => onTalk(agent)} title={`${LIVE.talk}: ${name}`}>
          <bdi>{name}</bdi>
        </button>
        <span className="live-task-from cut" title={from}>
          <bdi>{from}</bdi>
        </span>
        <span className="live-task-took figure">{ended ? <Duration ms={task.durationMs} /> : <Duration from={startedAt} />}</span>
        {ended ? (
          <span className="live-task-place" />
        ) : (
          <Button kind="plain" icon="stop" aria-label={LIVE.stopTask(name)} disabledWhy={stopping ? LIVE.stopping : writing.why} onClick={() => onStop(task)} />
        )}
        <Menu
          trigger="⋯"
          label={`${LIVE.openTask}, ${LIVE.talk}`}
          className="kit-button kit-button-plain kit-button-icon"
          items={[
            { id: "open", label: LIVE.openTask, key: "Enter", onSelect: () => navigate(`/tasks/${id}`) },
            { id: "talk", label: LIVE.talk, onSelect: () => onTalk(agent) },
          ]}
        />
      </header>
      <p className="live-task-text" dir="auto">
        <Link to={`/tasks/${id}`}>{text}</Link>
      </p>
      {stopping && !ended ? <p className="live-step live-step-open">{LIVE.stopping}</p> : <TaskSteps task={task} ended={ended} />}
    </article>
  );
}

const SETTLE_MS = 300;

/** The newest steps, and what happens between them. */
export function TaskSteps({
  task,
  ended = false,
}: {
  readonly task: Pick<TaskNow, "steps" | "more" | "waits" | "step" | "state" | "startedAt" | "error">;
  readonly ended?: boolean;
}) {
  const { startedAt } = task;
  // A fixed number of lines: a growing card would push away the content below.
  const more = task.more > 0 ? task.more + 1 : 0;
  const steps = task.more > 0 ? task.steps.slice(1) : task.steps;
  const last = steps.at(-1);
  const open = last !== undefined && last.durationMs === undefined && last.error === undefined && !ended && task.waits === undefined;
  return (
    <ol className="live-steps">
      {more > 0 && <li className="live-step live-step-more">{LIVE.earlier(more)}</li>}
      {steps.map(({ name, at, durationMs, error, input }, index) => {
        const runs = open && index === steps.length - 1;
        return (
          <li key={`${at} ${name}`} className={`live-step${runs ? " live-step-open" : ""}`}>
            <Glyph state={error !== undefined ? "failed" : runs ? "running" : "ok"} />
            <span className="live-step-name cut" title={[name, input, error].filter(Boolean).join("\n")}>
              {name}
              {input !== undefined && <span className="live-step-input"> {input}</span>}
            </span>
            <span className="live-step-took figure">{runs ? <Duration from={at} /> : <Duration ms={durationMs} />}</span>
          </li>
        );
      })}
      {ended && task.error !== undefined && (
        <li className="live-step live-wrong">
          <Glyph state={task.state} />
          <span className="live-step-name">{task.error}</span>
        </li>
      )}
      {!ended && !open && <OpenStep task={task} since={last === undefined ? startedAt : last.at + (last.durationMs ?? 0)} />}
    </ol>
  );
}

function OpenStep({ task: { waits, step, state }, since }: { readonly task: Pick<TaskNow, "waits" | "step" | "state">; readonly since: number }) {
  const place = /^slot (\d+)$/.exec(waits ?? "")?.[1];
  const words =
    waits === "conversation"
      ? LIVE.waitsConversation
      : place !== undefined
        ? LIVE.waitsSlot(Number(place))
        : waits !== undefined
          ? LIVE.waitsFor(waits)
          : step === "agent"
            ? LIVE.works
            : LIVE.prepares(step);
  const waiting = state !== "running";
  return (
    <li className="live-step live-step-open">
      <Glyph state={waiting ? "waiting" : "running"} />
      <span className="live-step-name cut" title={words}>
        {words}
      </span>
      <span className="live-step-took figure">
        <Duration from={since} />
      </span>
    </li>
  );
}
