import {
  codeOf,
  type Forge,
  type ForgeAgent,
  type ForgeNote,
  type ForgeRight,
  type ForgeUser,
  push,
  put,
  type Route,
  reasonOf,
  type TaskResult,
} from "@svc/sdk";
import { commentsFor, type Shared } from "./connection.ts";
import type { Command } from "./decide.ts";
import type { OwnComments } from "./own-comments.ts";
import { messageOf, noteOf } from "./prompt.ts";
import { NAMES, objectKey, type Run, type RunState, type RunStep, threadKey } from "./rows.ts";
import { headLine } from "./status-text.ts";

/** Steps of a task that the row keeps. */
const KEPT_STEPS = 12;
const RESULT_MS = 2_000;
/** More pictures of one note are not fetched. */
const MOST_MEDIA = 8;

/** Start of a run. */
export interface Start {
  readonly id: string;
  readonly agent: ForgeAgent;
  readonly actor: ForgeUser;
  readonly right: ForgeRight;
  /** The agent that asks, where one does. */
  readonly askedBy?: string;
  readonly depth?: number;
}

/** Runs of agents on notes: begun once, found again after a restart, stopped by who may. */
export class Runs {
  readonly #shared: Shared & { readonly comments: OwnComments };
  readonly #locks = new Map<string, Promise<unknown>>();
  /** Runs whose task is being accepted: their row does not name it yet. */
  readonly #accepting = new Set<Promise<void>>();
  /** Steps that were heard of and stand in no row yet. */
  readonly #steps = new Map<string, { readonly steps: RunStep[]; count: number }>();

  constructor(shared: Shared & { readonly comments: OwnComments }) {
    this.#shared = shared;
  }

  get(id: string): Promise<Run | undefined> {
    return this.#shared.rows.runs.get(id).then((doc) => doc?.value);
  }

  async ofTask(taskId: string): Promise<Run | undefined> {
    const accepting = [...this.#accepting];
    const find = async () => (await this.#shared.rows.runs.list({ where: { taskId }, limit: 1 }))[0]?.value;
    const found = await find();
    if (found !== undefined || accepting.length === 0) return found;
    // An engine may call a tool before the row of its run names the task.
    await Promise.allSettled(accepting);
    return find();
  }

  /** One at a time for a run: its comment has one writer. */
  async exclusive<T>(id: string, work: () => Promise<T>): Promise<T> {
    const before = this.#locks.get(id) ?? Promise.resolve();
    const mine = before.then(work, work);
    const settled = mine.catch(() => {});
    this.#locks.set(id, settled);
    try {
      return await mine;
    } finally {
      if (this.#locks.get(id) === settled) this.#locks.delete(id);
    }
  }

  /** False when that agent has a run on that note already. */
  async start(forge: Forge, note: ForgeNote, { id, agent, actor, right, askedBy, depth }: Start): Promise<boolean> {
    const { rows } = this.#shared;
    const { place } = note;
    const run: Run = {
      id,
      forge: forge.name,
      agent: agent.agent,
      place,
      note: noteOf(note),
      asker: actor,
      right,
      ...(agent.node === undefined ? {} : { node: agent.node }),
      comments: commentsFor(this.#shared, agent),
      media: forge
        .media(note)
        .flatMap(({ handle, kind, name }) =>
          handle === undefined ? [] : [{ handle, kind: kind === "image" ? ("image" as const) : ("file" as const), ...(name === undefined ? {} : { name }) }],
        )
        .slice(0, MOST_MEDIA),
      ...(askedBy === undefined ? {} : { askedBy }),
      ...(depth === undefined ? {} : { depth }),
      state: "accepting",
      steps: [],
      stepCount: 0,
      live: 1,
      at: Date.now(),
      object: objectKey(forge.name, forge.origin, place, note),
      thread: threadKey(forge.name, forge.origin, place),
    };
    try {
      await rows.store.commit([put(NAMES.runs, id, run, "absent"), push(NAMES.status, id, { run: id })]);
    } catch (error) {
      if (codeOf(error) !== "SVC_STORE_CONFLICT") throw error;
      const there = await this.get(id);
      // Begun and not handed over: the daemon ended between the two.
      if (there?.state === "accepting") await this.accept(there);
      return false;
    }
    await this.accept(run);
    return true;
  }

  /** Hands the note to its agent; the same note is one task, however often. */
  async accept(run: Run): Promise<void> {
    const accepted = this.exclusive(run.id, async () => {
      const now = await this.get(run.id);
      if (now === undefined || now.state !== "accepting") return;
      const { taskId } = await this.#shared.ctx.tasks.accept(messageOf(now));
      await this.save({ ...now, state: "accepted", taskId });
    });
    this.#accepting.add(accepted);
    try {
      await accepted;
    } finally {
      this.#accepting.delete(accepted);
    }
  }

  /** Where the message of a run goes; undefined for messages that are none of a forge. */
  async route(channel: string, thread: string | undefined): Promise<Route | undefined> {
    if (thread === undefined || !this.#shared.forges.has(channel)) return undefined;
    const run = await this.get(thread);
    if (run === undefined) return undefined;
    const { agent, node, forge, note } = run;
    const message = messageOf(run);
    return {
      agent,
      ...(node === undefined ? {} : { node }),
      // Notes of one thread are worked on in their order, in one session.
      conversation: `${agent}:${forge}:${run.thread}`,
      reply: { channel: forge, account: agent, chat: message.chat, thread: run.id, replyTo: `${note.kind}-${note.id}` },
    };
  }

  async save(run: Run): Promise<Run> {
    await this.#shared.rows.runs.put(run.id, run);
    return run;
  }

  /** A task of some channel has begun or ended a step. */
  heard(taskId: string, name: string, phase: string): void {
    const known = this.#steps.get(taskId);
    if (known === undefined) return;
    const open = known.steps.findLastIndex((step) => step.name === name && !step.done);
    if (phase === "end" && open !== -1) known.steps[open] = { name, done: true };
    else if (phase !== "end") {
      known.steps.push({ name, done: false });
      known.count += 1;
      if (known.steps.length > KEPT_STEPS) known.steps.shift();
    }
  }

  /** The run as its task stands now. Asked before each edit, and after a restart. */
  async refreshed(run: Run): Promise<{ readonly run: Run; readonly result?: TaskResult }> {
    const { taskId } = run;
    if (taskId === undefined) return { run };
    const { tasks } = this.#shared.ctx;
    if (!this.#steps.has(taskId)) this.#steps.set(taskId, { steps: [...run.steps], count: run.stepCount });
    const heard = this.#steps.get(taskId) ?? { steps: [], count: 0 };
    const withSteps: Run = { ...run, steps: [...heard.steps], stepCount: heard.count };
    const running = tasks.running().find(({ id }) => id === taskId);
    if (running !== undefined) {
      const state: RunState = running.step === "waiting" ? "waiting" : running.step === "queued" ? "accepted" : "working";
      return { run: { ...withSteps, state, startedAt: run.startedAt ?? running.startedAt } };
    }
    if (tasks.queued().some(({ id }) => id === taskId)) return { run: withSteps };
    const result = await this.result(taskId);
    if (result === undefined) return { run: withSteps };
    const traced = (await this.#shared.ctx.traces.get(taskId).catch(() => undefined))?.steps.filter(({ kind }) => kind === "tool" || kind === "action") ?? [];
    // The trace has them all, also those of before a restart.
    const steps =
      traced.length < withSteps.stepCount ? {} : { steps: traced.slice(-KEPT_STEPS).map(({ name }) => ({ name, done: true })), stepCount: traced.length };
    return { run: ended({ ...withSteps, ...steps }, result), result };
  }

  /** Returns the result of the task; undefined while it runs. */
  async result(taskId: string): Promise<TaskResult | undefined> {
    try {
      return await this.#shared.ctx.tasks.result(taskId, AbortSignal.timeout(RESULT_MS));
    } catch (error) {
      if (codeOf(error) !== "SVC_TASK_UNKNOWN") return undefined;
      return { ok: false, taskId, agent: "", reply: "", status: "error", error: "nothing is known of its task any more", durationMs: 0 };
    }
  }

  /** Nothing more is shown of it. */
  forget({ taskId }: Run): void {
    if (taskId !== undefined) this.#steps.delete(taskId);
  }

  /** The note is gone: what has not begun does not begin. */
  async deleted(object: string): Promise<void> {
    const { rows, ctx } = this.#shared;
    const queued = new Set(ctx.tasks.queued().map(({ id }) => id));
    for (const { value: run } of await rows.runs.list({ where: { object } })) {
      if (run.taskId === undefined || !queued.has(run.taskId)) continue;
      await this.exclusive(run.id, async () => {
        const now = (await this.get(run.id)) ?? run;
        // A run without a visible comment has ended: later answers of the thread do not wait for it.
        const over = now.shown === undefined ? { state: "stopped" as const, endedAt: Date.now(), live: 0 as const } : {};
        await this.save({ ...now, ...over, stoppedBy: DELETION });
      });
      await ctx.tasks.cancel(run.taskId, "the note was deleted");
    }
  }

  /** `stop` and `status` of what runs in the thread of a note. Answers what was done, for the log. */
  async command(
    forge: Forge,
    note: ForgeNote,
    { command, agents, actor, right }: { readonly command: Command; readonly agents: readonly string[]; readonly actor: ForgeUser; readonly right: ForgeRight },
    signal: AbortSignal,
  ): Promise<string> {
    const { rows, comments, ctx } = this.#shared;
    const thread = threadKey(forge.name, forge.origin, note.place);
    const docs = await rows.runs.list({ where: { thread, live: 1 } });
    const open = docs.map(({ value }) => value).filter(({ agent }) => agents.length === 0 || agents.includes(agent));
    let done = 0;
    for (const run of open) {
      if (command === "stop") {
        if (right !== "write" && run.asker.id !== actor.id) continue;
        await this.exclusive(run.id, async () => this.save({ ...((await this.get(run.id)) ?? run), stoppedBy: actor.login }));
        if (run.taskId !== undefined && (await ctx.tasks.cancel(run.taskId, `stopped by ${actor.login} on ${forge.name}`))) done += 1;
      } else if (run.comments) {
        const { run: now } = await this.refreshed(run);
        const text = headLine(now, Date.now());
        const key = `${run.id}/status-${note.kind}-${note.id}`;
        await comments
          .post(
            forge,
            { key, run: run.id, agent: run.agent, task: run.taskId ?? run.id, place: note.place, text, told: [actor.login], urgency: "first", reply: note },
            signal,
          )
          .catch((error) => ctx.log.warn({ forge: forge.name, note: note.url, reason: reasonOf(error) }, "a status could not be told"));
        done += 1;
      }
    }
    return `command ${command}: ${done} of ${open.length} runs`;
  }
}

/** Reason for stopping a run that had not begun when its note was deleted: its answer is not delivered. */
export const DELETION = "the deletion of the note";

/** The run with the end of its task. */
export function ended(run: Run, { status, errorKind, reply }: TaskResult): Run {
  const state: RunState =
    status === "ok" ? (reply === "" ? "silent" : "answered") : errorKind === "cancelled" ? "stopped" : errorKind === "held" ? "waiting" : "failed";
  return { ...run, state, steps: run.steps.map(({ name }) => ({ name, done: true })), endedAt: run.endedAt ?? Date.now(), startedAt: run.startedAt ?? run.at };
}
