import { createHmac } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { edges } from "../../rules/wf.harness.ts";
import { ask, pause } from "../daemon.harness.ts";

const HOUR_MS = 3_600_000;
/** So long a request may wait: a daemon that is started anew answers, and one that was killed has cut it. */
const PATIENCE_MS = 60_000;
const WEBHOOK_SECRET = "the-secret-of-the-builds";

/** The daemon as it is now; undefined while there is none. */
export type Any = () => { readonly port: number } | undefined;

/** A round of work that programs and people do beside the chats. */
export interface Office {
  /** The sections of svc.json for it. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly env: Readonly<Record<string, string>>;
  /** Works until `stop` says so: webhooks come, runs are started, people do their tasks, tasks go to the peer. */
  work(any: Any, stop: () => boolean): Promise<void>;
  /** What is still to come, before it is judged; jobs are there since a time of the daemon's clock. */
  missing(port: number, since: number, now: number): Promise<string[]>;
  judge(port: number): Promise<string[]>;
  tally(): Readonly<Record<string, number>>;
}

interface Run {
  readonly minute?: string;
  readonly status: string;
}
interface Job {
  readonly id: string;
  readonly missed: readonly { readonly first: string; readonly last: string }[];
}
interface Step {
  readonly kind: string;
  readonly step?: string;
}

const WORKFLOW = {
  id: "build",
  nodes: [
    { id: "start", kind: "trigger", inputSchema: { n: { type: "integer", required: true } } },
    { id: "turn", kind: "agent", agent: "echo", message: "do {{ input.n }}" },
    { id: "ask", kind: "userTask", title: "Build {{ input.n }}?", assignee: "actor:ann", form: [{ name: "note", kind: "text", required: true }] },
    { id: "mark", kind: "action", action: "mark", idempotent: true },
    { id: "done", kind: "end", output: "{{ input.n }}" },
  ],
  edges: edges("start > turn, turn > ask, ask > mark, mark > done"),
};

/** In the folder of a daemon; `peer` is another one. */
export function openOffice(folder: string, peer: { readonly url: string; readonly token: string }): Office {
  const marks = join(folder, "marks");
  mkdirSync(join(folder, ".svc/workflows"), { recursive: true });
  mkdirSync(join(folder, ".svc/actions"), { recursive: true });
  writeFileSync(join(folder, ".svc/workflows/build.json"), JSON.stringify(WORKFLOW));
  writeFileSync(
    join(folder, ".svc/actions/mark.json"),
    JSON.stringify({ title: "Marks.", kind: "shell", command: `printf '%s\\n' "$SVC_IDEMPOTENCY_KEY" >> ${marks}; echo done` }),
  );
  const counted = { webhooks: 0, runs: 0, delegated: 0, "not delegated": 0, "cron runs": 0, "cron minutes missed": 0 };
  /** Deliveries that were acknowledged, and runs that were started, since they were judged. */
  const builds = new Map<string, string>();
  const runs = new Map<number, string>();
  const strange: string[] = [];
  const ran = new Map<string, string>();
  const missed = new Set<string>();
  let next = 0;

  async function tellBuild(port: number, n: number): Promise<void> {
    const body = JSON.stringify({ type: "build", number: n });
    const signature = `sha256=${createHmac("sha256", WEBHOOK_SECRET).update(body).digest("hex")}`;
    const headers = { "content-type": "application/json", "x-forge-signature-256": signature, "x-delivery-id": `build-${n}` };
    const response = await fetch(`http://127.0.0.1:${port}/webhook/echo/ci`, { method: "POST", body, headers, signal: AbortSignal.timeout(10_000) });
    const { taskId } = (await response.json()) as { taskId?: string };
    if (taskId === undefined) return;
    const before = builds.get(`build-${n}`);
    if (before !== undefined && before !== taskId) strange.push(`build ${n}: sent again, it became ${taskId} beside ${before}`);
    if (before === undefined) counted.webhooks += 1;
    builds.set(`build-${n}`, taskId);
  }

  async function startRun(port: number, n: number): Promise<void> {
    if (runs.has(n)) return;
    const { status, body } = await ask<{ runId?: string }>(port, "/workflows/build/run", { payload: { n }, startKey: `run-${n}` });
    if ((status !== 202 && status !== 200) || body.runId === undefined) return;
    counted.runs += 1;
    runs.set(n, body.runId);
  }

  async function doTasks(port: number): Promise<void> {
    const { body } = await ask<{ tasks?: readonly { id: string }[] }>(port, "/api/workflows/tasks?limit=200");
    for (const { id } of body.tasks ?? []) await ask(port, `/api/workflows/tasks/${id}/submit`, { note: "yes" });
  }

  async function delegate(port: number, n: number): Promise<void> {
    const message = `delegated ${n}`;
    const { body } = await ask<{ ok?: boolean; reply?: string }>(port, "/mesh/task", { peer: "peer", agent: "echo", message });
    counted[body.ok === true ? "delegated" : "not delegated"] += 1;
    if (body.ok === true && body.reply !== message) strange.push(`${message}: the peer's answer is ${body.reply}`);
  }

  /** Adds what the jobs have run and missed to what is known of it. */
  async function lookAtJobs(port: number): Promise<void> {
    const { crons } = (await ask<{ crons: readonly Job[] }>(port, "/crons")).body;
    for (const { first, last } of crons.find(({ id }) => id === "hourly")?.missed ?? [])
      for (let at = Date.parse(first); at <= Date.parse(last); at += HOUR_MS) missed.add(new Date(at).toISOString());
    const own = (await ask<{ runs: readonly Run[] }>(port, "/crons/hourly/runs")).body.runs;
    const minutes = own.flatMap(({ minute }) => minute ?? []);
    if (new Set(minutes).size !== minutes.length) strange.push(`a minute ran twice: ${minutes.join(", ")}`);
    for (const { minute, status } of own) if (minute !== undefined) ran.set(minute, status);
    counted["cron runs"] = ran.size;
    counted["cron minutes missed"] = [...missed].filter((minute) => !ran.has(minute)).length;
  }

  /** One after the other, again and again; what the daemon's end cuts is tried again. What is never answered is told. */
  async function repeat(what: string, any: Any, stop: () => boolean, ms: number, work: (port: number, n: number) => Promise<void>): Promise<void> {
    for (let n = next; !stop(); await pause(ms)) {
      const at = any();
      if (at === undefined) continue;
      const ended = work(at.port, n).then(
        () => "done",
        // It is down, or was cut: the same once more.
        () => "cut",
      );
      const how = await Promise.race([ended, pause(PATIENCE_MS)]);
      if (how === undefined) strange.push(`${what}: no answer in ${PATIENCE_MS / 1_000} s`);
      if (how !== "done") continue;
      next += 1;
      n = next;
    }
  }

  return {
    config: {
      crons: { hourly: { schedule: "0 * * * *", agent: "echo", command: "echo tick" } },
      webhooks: [{ id: "builds", source: "ci", agentId: "echo", secretEnv: "CI_SECRET" }],
      workflows: { enabled: true },
      mesh: { enabled: true, peers: [{ name: "peer", ...peer }], healthCheck: { interval: 5, timeout: 2 } },
    },
    env: { CI_SECRET: WEBHOOK_SECRET },
    async work(any, stop) {
      await Promise.all([
        repeat("webhooks", any, stop, 300, async (port, n) => {
          await tellBuild(port, n);
          if (n % 5 === 0) await tellBuild(port, n);
        }),
        repeat("runs", any, stop, 2_000, startRun),
        repeat("user tasks", any, stop, 500, doTasks),
        repeat("delegation", any, stop, 1_000, delegate),
      ]);
    },
    async missing(port, since, now) {
      await doTasks(port);
      await lookAtJobs(port);
      const open: string[] = [];
      for (let hour = Math.floor(since / HOUR_MS) * HOUR_MS + HOUR_MS; hour <= now; hour += HOUR_MS) {
        const minute = new Date(hour).toISOString();
        if (!ran.has(minute) && !missed.has(minute)) open.push(`the hour ${minute} has neither run nor been noted as missed`);
        if (ran.get(minute) === "running") open.push(`the hour ${minute} still runs`);
      }
      for (const [build, taskId] of builds) {
        const { status, body } = await ask<{ status?: string }>(port, `/traces/${taskId}`);
        if (status !== 200 || body.status === "in-flight") open.push(`${build}: ${taskId} has not ended`);
      }
      for (const [n, id] of runs) {
        const { body } = await ask<{ status?: string }>(port, `/api/workflows/runs/${id}`);
        if (body.status === "running") open.push(`run ${n} goes on`);
      }
      return open;
    },
    async judge(port) {
      const wrong = strange.splice(0);
      for (const [build, taskId] of builds) {
        const { body } = await ask<{ status?: string }>(port, `/traces/${taskId}`);
        if (body.status !== "ok") wrong.push(`${build}: acknowledged as ${taskId}, which is ${body.status ?? "lost"}`);
      }
      const done = existsSync(marks) ? readFileSync(marks, "utf8").trim().split("\n") : [];
      for (const [n, id] of runs) {
        const { body } = await ask<{ status?: string; timeline?: readonly Step[] }>(port, `/api/workflows/runs/${id}`);
        if (body.status !== "completed") wrong.push(`run ${n}: ${body.status ?? "lost"}`);
        const ends = (body.timeline ?? []).flatMap(({ kind, step = "" }) => (kind === "step.ended" ? [step] : []));
        if (new Set(ends).size !== ends.length) wrong.push(`run ${n}: a step ended twice: ${ends.join(", ")}`);
        if (!done.includes(`${id}/mark/1`)) wrong.push(`run ${n}: its action has left no mark`);
      }
      builds.clear();
      runs.clear();
      return wrong;
    },
    tally: () => ({ ...counted }),
  };
}
