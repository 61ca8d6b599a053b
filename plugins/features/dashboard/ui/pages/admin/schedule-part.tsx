import { useState } from "react";
import type { ApiError } from "../../data/api-error.ts";
import { useConnection } from "../../data/live.ts";
import { useWriting } from "../../data/me.ts";
import { request } from "../../data/request.ts";
import { Link } from "../../data/router.tsx";
import { Button } from "../../kit/button.tsx";
import { ConfirmDialog } from "../../kit/dialog.tsx";
import { Glyph, stateOf } from "../../kit/glyph.tsx";
import { toast } from "../../kit/toast.ts";
import { Ago } from "../../kit/values.tsx";
import { PARTS } from "../../words/admin-parts.ts";
import type { ScheduleFacts } from "./live-facts.ts";

/** When a schedule runs next, how its last run went, and a run by hand. */
export function SchedulePart({
  id,
  job,
  onChanged,
  onDecided,
}: {
  readonly id: string;
  readonly job: ScheduleFacts | undefined;
  onChanged(): void;
  /** svc.json is another one now. */
  onDecided(): void;
}) {
  const [busy, setBusy] = useState(false);
  const [asks, setAsks] = useState(false);
  const lost = useConnection().state === "lost";
  const writing = useWriting();
  const run = async () => {
    setBusy(true);
    try {
      await request("POST", `/api/admin/schedules/${encodeURIComponent(id)}/run`);
      toast({ text: PARTS.runNowDone(id) });
    } catch (error) {
      toast({ text: (error as ApiError).message, kind: "error" });
    } finally {
      setBusy(false);
      onChanged();
    }
  };
  const decide = async (approved: boolean) => {
    setBusy(true);
    try {
      await request("POST", `/api/admin/schedules/${encodeURIComponent(id)}/decide`, { approved });
      const runs = (job?.approval?.action === "create") === approved;
      toast({ text: runs ? PARTS.decidedRuns(id) : PARTS.decidedGone(id) });
    } catch (error) {
      toast({ text: (error as ApiError).message, kind: "error" });
    } finally {
      setBusy(false);
      setAsks(false);
      onDecided();
    }
  };
  const removes = job?.approval?.action === "create" ? PARTS.rejectCreate : PARTS.approveDelete;
  const last = job?.last;
  const state = last?.state ?? last?.outcome ?? last?.status ?? "";
  return (
    <div className="admin-facts">
      {job === undefined ? (
        <span>{lost ? PARTS.away : PARTS.notYet}</span>
      ) : (
        <dl className="admin-fact-list">
          <div>
            <dt>{PARTS.next}</dt>
            <dd>
              {job.next.length === 0
                ? job.approval === undefined
                  ? PARTS.noNext
                  : PARTS.waitsApproval
                : job.next.map((at) => (
                    <time key={at} dateTime={at} className="admin-moment">
                      {moment(at)}
                    </time>
                  ))}
            </dd>
          </div>
          <div>
            <dt>{PARTS.last}</dt>
            <dd>
              {job.running !== undefined && <Glyph state="running" word label={PARTS.runningNow} />}
              {last === undefined ? (
                job.running === undefined && PARTS.never
              ) : (
                <>
                  <Glyph state={stateOf(state)} word /> <Ago at={last.at} />{" "}
                  {last.taskId !== undefined && <Link to={`/tasks/${last.taskId}`}>{PARTS.task}</Link>}
                  {last.error !== undefined && <span className="form-error">{last.error}</span>}
                </>
              )}
              {job.turnedOff !== undefined && <p className="form-error">{PARTS.turnedOff}</p>}
            </dd>
          </div>
        </dl>
      )}
      <Button busy={busy} disabledWhy={writing.why ?? (job === undefined ? PARTS.saveFirst : undefined)} onClick={run}>
        {PARTS.runNow}
      </Button>
      {job?.approval !== undefined && (
        <section className="admin-decision" aria-label={PARTS.decision}>
          <p>{job.approval.action === "create" ? PARTS.asksCreate(job.approval.requestedBy) : PARTS.asksDelete(job.approval.requestedBy)}</p>
          <Button kind="primary" busy={busy} disabledWhy={writing.why} onClick={() => decide(job.approval?.action === "create")}>
            {job.approval.action === "create" ? PARTS.approveCreate : PARTS.rejectDelete}
          </Button>
          <Button kind="danger" busy={busy} disabledWhy={writing.why} onClick={() => setAsks(true)}>
            {`${removes}...`}
          </Button>
          <ConfirmDialog
            title={PARTS.removeTitle(id)}
            action={removes}
            danger
            busy={busy}
            open={asks}
            onClose={() => setAsks(false)}
            onConfirm={() => void decide(job.approval?.action !== "create")}
          >
            <p>{PARTS.removeText}</p>
          </ConfirmDialog>
        </section>
      )}
    </div>
  );
}

const moment = (at: string): string =>
  new Date(at).toLocaleString(undefined, { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hour12: false });
