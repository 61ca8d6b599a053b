import { useState } from "react";
import { useWriting } from "../../data/me.ts";
import { request } from "../../data/request.ts";
import { Button } from "../../kit/button.tsx";
import { ConfirmDialog } from "../../kit/dialog.tsx";
import { LIVE } from "../../words/live-words.ts";
import type { TasksNow } from "../live/live-types.ts";
import { stopTask } from "../live/running-task.tsx";

/** The question waits for the count of other messages no longer than that. */
const COUNT_MS = 2_000;

/** Stops the task after a yes; the question says how many other messages the same turn answers. */
export function StopTask({ task, name }: { readonly task: string; readonly name: string }) {
  const writing = useWriting();
  const [others, setOthers] = useState<number>();
  const ask = async () => {
    // Without a prompt answer the question is asked without the count: a task that must be stopped does not wait for it.
    const now = await request<TasksNow>("GET", "/api/tasks/now", undefined, { signal: AbortSignal.timeout(COUNT_MS) }).catch(() => undefined);
    const turn = now?.running.find((one) => one.id === task || one.with?.includes(task) === true);
    setOthers(turn?.with?.length ?? 0);
  };
  const close = () => setOthers(undefined);
  const stop = () => {
    close();
    void stopTask(task);
  };
  return (
    <>
      <Button icon="stop" disabledWhy={writing.why} onClick={() => void ask()}>
        {`${LIVE.stop}...`}
      </Button>
      <ConfirmDialog title={LIVE.stopTitle} action={LIVE.stop} danger open={others !== undefined} onConfirm={stop} onClose={close}>
        <p>{LIVE.stopWhat(name)}</p>
        {others !== undefined && others > 0 && <p>{LIVE.stopOthers(others)}</p>}
      </ConfirmDialog>
    </>
  );
}
