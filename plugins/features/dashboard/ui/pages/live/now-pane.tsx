import { useRef, useState } from "react";
import { useWriting } from "../../data/me.ts";
import type { Resource } from "../../data/resource.ts";
import { Link, navigate } from "../../data/router.tsx";
import { AgentMark } from "../../kit/agent-mark.tsx";
import { Button } from "../../kit/button.tsx";
import { ConfirmDialog } from "../../kit/dialog.tsx";
import { count, when } from "../../kit/figures.ts";
import { Glyph } from "../../kit/glyph.tsx";
import { useKeys } from "../../kit/keys.ts";
import { StateView } from "../../kit/state-view.tsx";
import { Ago, Duration } from "../../kit/values.tsx";
import { VirtualList, type VirtualListHandle } from "../../kit/virtual-list.tsx";
import { LIVE } from "../../words/live-words.ts";
import { STATES } from "../../words/states.ts";
import type { TaskNow, TaskRow, TasksNow } from "./live-types.ts";
import { RunningTask, stopTask } from "./running-task.tsx";
import { useEntering, useKeptTasks } from "./steady.ts";

const ROW = 32;

/** Running and ended tasks, in separate places: neither pushes the other away. */
export function NowPane({ now, nameOf, onTalk }: { readonly now: Resource<TasksNow>; nameOf(agent: string): string; onTalk(agent: string): void }) {
  const kept = useKeptTasks(now.data);
  const writing = useWriting();
  const [asked, setAsked] = useState<TaskNow>();
  const [stopping, setStopping] = useState<ReadonlySet<string>>(new Set());
  const { running = [], queued = [], slots = 0, ended } = now.data ?? {};
  useKeys(
    {
      s: {
        title: LIVE.stop,
        run: () => {
          const focused = document.activeElement?.closest<HTMLElement>("[data-task]")?.dataset.task;
          const task = running.find(({ id }) => id === focused) ?? (running.length === 1 ? running[0] : undefined);
          if (task === undefined || writing.why !== undefined) return false;
          setAsked(task);
          return true;
        },
      },
    },
    { scope: LIVE.now },
  );
  const stop = () => {
    const { id } = asked as TaskNow;
    setAsked(undefined);
    setStopping((all) => new Set([...all, id]));
    void stopTask(id).finally(() => {
      setStopping((all) => new Set([...all].filter((other) => other !== id)));
      now.reload();
    });
  };
  return (
    <section className="live-now" aria-label={LIVE.now}>
      <div className="live-running">
        <header className="kit-pane-head">
          <h2>
            {LIVE.running(running.length)
              .replace(/^\d+ /, "")
              .replace(/^./, (first) => first.toUpperCase())}
          </h2>
          <span className="kit-pane-count">{now.data !== undefined && LIVE.slots(running.length, slots)}</span>
          <span className="grow" />
          {queued.length > 0 && <span className="meta">{LIVE.queued(queued.length)}</span>}
        </header>
        <div className="live-running-list" tabIndex={0} role="region" aria-label={LIVE.runningList}>
          <StateView
            loading={now.loading && now.data === undefined}
            slow={now.slow}
            error={now.data === undefined ? now.error : undefined}
            what={LIVE.runningList}
            onRetry={now.reload}
            onCancel={now.cancel}
            rows={4}
            empty={now.data !== undefined && kept.length === 0 ? <p>{[LIVE.nothingRuns, lastWords(ended?.[0])].join(" ")}</p> : undefined}
          >
            {kept.map((one) => (
              <RunningTask key={one.task.id} kept={one} name={nameOf(one.task.agent)} stopping={stopping.has(one.task.id)} onStop={setAsked} onTalk={onTalk} />
            ))}
          </StateView>
        </div>
      </div>
      <EndedTasks ended={ended} nameOf={nameOf} />
      <ConfirmDialog title={LIVE.stopTitle} action={LIVE.stop} danger open={asked !== undefined} onConfirm={stop} onClose={() => setAsked(undefined)}>
        <p>{asked !== undefined && LIVE.stopWhat(nameOf(asked.agent))}</p>
        {asked?.with !== undefined && <p>{LIVE.stopOthers(asked.with.length)}</p>}
      </ConfirmDialog>
    </section>
  );
}

const lastWords = (row: TaskRow | undefined): string =>
  row === undefined ? "" : LIVE.lastTask(when(row.startedAt + (row.durationMs ?? 0)), STATES[row.state]);

function EndedTasks({ ended, nameOf }: { readonly ended: readonly TaskRow[] | undefined; nameOf(agent: string): string }) {
  const list = useRef<VirtualListHandle>(null);
  const { shown, waiting, enter } = useEntering(
    ended,
    ({ id }) => id,
    () => list.current?.atRest() !== false,
  );
  const [selected, setSelected] = useState<number>();
  return (
    <div className="live-ended">
      <header className="kit-pane-head">
        <h2>{LIVE.ended}</h2>
        <span className="grow" />
        {waiting > 0 && <Button onClick={enter}>{LIVE.newEvents(waiting)}</Button>}
        <Link to="/tasks">{LIVE.allTasks}</Link>
      </header>
      {ended !== undefined && shown.length === 0 ? (
        <p className="kit-state">{LIVE.endedNone}</p>
      ) : (
        <VirtualList
          ref={list}
          className="live-ended-list"
          label={LIVE.ended}
          count={shown.length}
          rowHeight={ROW}
          keys={false}
          selected={selected}
          onSelect={setSelected}
          onOpen={(at) => navigate(`/tasks/${shown[at]?.id}`)}
          keyOf={(at) => shown[at]?.id ?? at}
          render={(at) => shown[at] !== undefined && <EndedRow row={shown[at]} name={nameOf(shown[at].agent)} />}
        />
      )}
    </div>
  );
}

function EndedRow({ row, name }: { readonly row: TaskRow; readonly name: string }) {
  const wrong = row.state === "failed" || row.state === "timed-out";
  const words = wrong ? (row.error ?? row.text) : row.text;
  return (
    <>
      <span role="gridcell" className="live-cell-state">
        <Glyph state={row.state} />
      </span>
      <span role="gridcell" className="live-cell-agent kit-marked" title={name}>
        <AgentMark agent={row.agent} />
        <bdi className="cut">{name}</bdi>
      </span>
      <span role="gridcell" className={`live-cell-text cut${wrong ? " live-wrong" : ""}`} title={words}>
        <bdi>{words}</bdi>
      </span>
      <span role="gridcell" className="live-cell-took figure">
        <Duration ms={row.durationMs} />
      </span>
      <span role="gridcell" className="live-cell-tokens figure">
        {row.tokens !== undefined && count(row.tokens, true)}
      </span>
      <span role="gridcell" className="live-cell-at figure meta">
        <Ago at={row.startedAt} clock />
      </span>
    </>
  );
}
