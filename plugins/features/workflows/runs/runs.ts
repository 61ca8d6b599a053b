import { randomBytes } from "node:crypto";
import {
  codeOf,
  type Lease,
  reasonOf,
  remove,
  type WorkflowRun,
  type WorkflowSignal,
  type WorkflowSignaled,
  type WorkflowStart,
  type WorkflowStarted,
} from "@svc/sdk";
import type { Input, RunError, RunStatus } from "../engine/types.ts";
import { dueInputs } from "../engine/wakes.ts";
import type { Extern } from "../triggers/extern.ts";
import { externEffect } from "../triggers/extern-effect.ts";
import { actionEffect } from "./action-effect.ts";
import { agentEffect } from "./agent-effect.ts";
import type { Batch } from "./batch.ts";
import { asItsParent, childEffect, startKeyFor } from "./child-effect.ts";
import { Effects } from "./effects.ts";
import { Host, type RunsContext } from "./host.ts";
import { VALUE_CHARS } from "./input-schema.ts";
import { listRuns, type RunPage, type RunQuery, wholeRun } from "./listing.ts";
import type { DefinitionPort, ReplayPort, TaskPort } from "./ports.ts";
import { faultOf } from "./reader.ts";
import { takeUpRuns, tellLeft } from "./recovery.ts";
import { replayed } from "./replayed.ts";
import { type RestartQuery, restartRun } from "./restarts.ts";
import { sweepRuns } from "./retention.ts";
import { type DetailQuery, detailOf, type Executed, executedBy, type RunDetail, type StepDetail, stepOf } from "./run-details.ts";
import { RunEnds } from "./run-ends.ts";
import { fail } from "./run-errors.ts";
import { isOver, type RunRooms, type RunRow, roomsOf } from "./run-rows.ts";
import { Shelf } from "./shelf.ts";
import { signalEffect } from "./signal-effect.ts";
import { type StartMore, Starts } from "./starts.ts";
import { createWakeClock, parentKey, WAKES, type WakeClock, wokenBy } from "./wake-clock.ts";

/** Dependencies of runs. */
export interface RunsOptions {
  readonly ctx: RunsContext;
  readonly definitions: DefinitionPort;
  readonly tasks: TaskPort;
  readonly replay?: ReplayPort;
  /** Runs of another service, for sub-processes `extern:<id>`. */
  readonly extern?: Extern;
  /** Resolves when all plugins run: before, agents and actions are not there yet. */
  ready(): Promise<void>;
  /** Works on steps that name no agent, where their definition has no owner. */
  defaultAgent(): Promise<string | undefined>;
}

type Change = "pause" | "resume" | "cancel";

const WORDS: Readonly<Record<Change, string>> = { pause: "paused", resume: "resumed", cancel: "canceled" };
const LEASE_MS = 30_000;
const LEASE_AGAIN_MS = 10_000;
/** A daemon that is restarted every night sweeps, too. */
const SWEEP_MS = 3_600_000;
const OTHERS_MS = 1_000;

/** The runs of this daemon: started, followed, and taken up again after a stop of any kind. */
export class Runs {
  readonly host: Host;
  readonly rooms: RunRooms;
  readonly #ctx: RunsContext;
  readonly #boot = randomBytes(6).toString("hex");
  readonly #definitions: DefinitionPort;
  readonly #ready: () => Promise<void>;
  readonly #effects: Effects;
  readonly #starts: Starts;
  readonly #clock: WakeClock;
  readonly #ends = new RunEnds();
  #lease: Lease | undefined;
  #leads = false;
  #stopped = false;

  constructor({ ctx, definitions, tasks, replay, extern, ready, defaultAgent }: RunsOptions) {
    this.#ctx = ctx;
    this.#ready = ready;
    this.rooms = roomsOf(ctx.store);
    this.#definitions = definitions;
    this.#clock = createWakeClock(ctx, (key) => this.#wake(key));
    this.host = new Host({
      ctx,
      rooms: this.rooms,
      boot: this.#boot,
      tasks,
      claims: () => this.#leads,
      arm: (due) => this.#clock.arm(due),
      ended: (row) => this.#ended(row),
    });
    this.#starts = new Starts(ctx, this.host, this.rooms, definitions);
    const { starts, rooms, host } = { starts: this.#starts, rooms: this.rooms, host: this.host };
    const child = childEffect({
      begin: async (id, start, parent) => (await starts.start(id, start, { parent })).runId,
      cancel: (childId, parentId) => this.#lookUp(childId, parentId),
    });
    const runners = {
      agent: replayed(agentEffect(ctx, defaultAgent), replay),
      action: replayed(actionEffect(ctx), replay),
      subProcess: replayed(extern === undefined ? child : externEffect(extern, child), replay),
      emitSignal: signalEffect(rooms, { signal: (runId, signal) => this.#signal(runId, signal), definition: (hash) => host.definition(hash) }),
    };
    this.#effects = new Effects(ctx, this.host, runners);
    this.host.effects = this.#effects;
  }

  /** Takes up what an earlier life of the daemon left, and goes on from there. */
  async open(): Promise<void> {
    await this.host.untold.load();
    await this.#lead();
    // Rows of the clock that other daemons write, for runs that were started or went on there, arm no timer here; what they end goes on here.
    if (this.#ctx.store.shared === true)
      this.#ctx.jobs.every(OTHERS_MS, () => {
        if (this.#leads) this.#clock.arm(Date.now());
        return this.#effects.recheck();
      });
    this.#ctx.jobs.every(SWEEP_MS, async () => {
      if (this.#leads) await sweepRuns(this.#ctx, this.rooms);
    });
  }

  /** Lets go of everything; what was not finished is found by the next start. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#leads = false;
    await this.#clock.stop();
    await this.#effects.stop();
    await this.host.stop();
    await this.#lease?.release();
  }

  /** As the service `workflows` says. */
  start(id: string, start: WorkflowStart, more: StartMore = {}): Promise<WorkflowStarted> {
    return this.#starts.start(id, start, more);
  }

  async run(runId: string): Promise<WorkflowRun | undefined> {
    const row = (await this.rooms.runs.get(runId))?.value;
    return row === undefined ? undefined : wholeRun(this.rooms, row);
  }

  list = (query: RunQuery): Promise<RunPage> => listRuns(this.rooms, query);

  detail = (runId: string, query: DetailQuery): Promise<RunDetail> => detailOf(this.rooms, runId, query);

  step = (runId: string, step: string): Promise<StepDetail> => stepOf(this.rooms, runId, step);

  executed = (runId: string): Promise<Executed> => executedBy(this.rooms, this.#definitions, runId);

  restart = (runId: string, query: RestartQuery): Promise<WorkflowStarted> =>
    restartRun({ host: this.host, rooms: this.rooms, definitions: this.#definitions }, runId, query);

  async change(runId: string, action: Change, { by, reason }: { readonly by: string; readonly reason?: string }): Promise<WorkflowRun> {
    const { row, refused } = await this.host.input(runId, { kind: action, at: Date.now(), by, ...(reason === undefined ? {} : { reason }) });
    if (refused !== undefined) throw fail("SVC_WORKFLOW_RUN_STATE", { id: runId, runStatus: row.status, asked: WORDS[action] });
    return wholeRun(this.rooms, row);
  }

  async signal(runId: string, signal: WorkflowSignal): Promise<WorkflowSignaled> {
    const { delivered, stored, duplicate } = await this.#signal(runId, signal);
    return { delivered, stored, duplicate };
  }

  async wait(runId: string, signal?: AbortSignal): Promise<WorkflowRun> {
    for (;;) {
      signal?.throwIfAborted();
      // Listens before it looks: an end in between is heard.
      const end = this.#ends.next(runId, signal);
      try {
        const run = await this.run(runId);
        if (run === undefined) throw fail("SVC_WORKFLOW_RUN_UNKNOWN", { id: runId });
        if (isOver(run.status as RunStatus)) return run;
        await end.promise;
      } finally {
        end.release();
      }
    }
  }

  /** Effects at work here, and runs in memory. */
  get atWork(): { readonly effects: number; readonly runs: number } {
    return { effects: this.#effects.size, runs: this.host.inMemory };
  }

  async #signal(runId: string, { name, payload = null, key, stored, onlyWaiting = false }: WorkflowSignal & { readonly onlyWaiting?: boolean }) {
    if ((JSON.stringify(payload)?.length ?? 0) > VALUE_CHARS) throw fail("SVC_WORKFLOW_SIZE", { id: runId });
    return this.host.act(runId, async (batch) => {
      const none = { delivered: false, stored: false, duplicate: false, dropped: false };
      if (isOver(batch.state.status)) throw fail("SVC_WORKFLOW_RUN_STATE", { id: runId, runStatus: batch.state.status, asked: "given a signal" });
      const matches = await batch.matching(name, payload);
      if (onlyWaiting && matches.length === 0) return { ...none, dropped: true };
      const given = {
        name,
        payload: batch.shelf.put(payload, false),
        matches,
        ...(key === undefined ? {} : { key }),
        ...(stored === undefined ? {} : { stored }),
      };
      const { entries, refused } = batch.feed({ kind: "signal", at: Date.now(), ...given });
      if (refused !== undefined) return { ...none, duplicate: true };
      const has = (kind: string) => entries.some((entry) => entry.kind === kind);
      return { ...none, delivered: has("signal.delivered"), stored: has("signal.stored"), dropped: !has("signal.delivered") && !has("signal.stored") };
    });
  }

  /** A sub-process does as its parent does, whatever that has done meanwhile. */
  async #lookUp(childId: string, parentId: string): Promise<void> {
    const by = `run:${parentId}`;
    await this.host.input(childId, async ({ state }) => {
      const row = (await this.rooms.runs.get(childId))?.value;
      const parent = (await this.rooms.runs.get(parentId))?.value;
      const kind = row === undefined || isOver(state.status) ? undefined : asItsParent(row, parent, by);
      return kind === undefined ? undefined : { kind, at: Date.now(), by };
    });
  }

  /** Told of its parent by a row. One that was written meanwhile, for what the parent did next, stays. */
  async #parentChanged(childId: string, parentId: string): Promise<void> {
    const key = parentKey(childId, parentId);
    const told = await this.#ctx.store.collection(WAKES, { indexes: ["due"] }).get(key);
    if (told === undefined) return;
    await this.#lookUp(childId, parentId);
    await this.#ctx.store.commit([remove(WAKES, key, told.version)]).catch((error) => {
      if (codeOf(error) !== "SVC_STORE_CONFLICT") throw error;
    });
  }

  /** Work for one daemon at a time: starting steps, and timers. */
  async #lead(): Promise<void> {
    const lease = await this.#ctx.store.lease("runs", LEASE_MS);
    if (!lease.held) return this.#tryToLead();
    this.#lease = lease;
    void this.#goOn(lease.signal).catch((error) => this.#ctx.log.error({ err: error }, `runs are not gone on with: ${reasonOf(error)}; restart the daemon`));
  }

  /** A store that is away for a moment must not keep this daemon from ever leading. */
  #tryToLead(): void {
    this.#ctx.jobs.after(LEASE_AGAIN_MS, () => {
      if (this.#stopped) return;
      this.#lead().catch((error) => {
        this.#ctx.log.error({ err: error }, `runs could not be taken over: ${reasonOf(error)}; tried again in ${LEASE_AGAIN_MS / 1_000} s`);
        this.#tryToLead();
      });
    });
  }

  /** Leftovers of an earlier process are resumed alongside new inputs. Runs that were started before are due, and begin then. */
  async #goOn(held: AbortSignal): Promise<void> {
    await this.#ready();
    if (held.aborted || this.#stopped) return;
    this.#leads = true;
    held.addEventListener("abort", () => {
      this.#leads = false;
      if (!this.#stopped) void this.#clock.stop().then(() => this.#tryToLead());
    });
    await this.#takeUp(held);
  }

  /** Takes up what is left, and starts the clock: without it nothing that is due comes. */
  async #takeUp(held: AbortSignal): Promise<void> {
    const parts = { ctx: this.#ctx, host: this.host, rooms: this.rooms, effects: this.#effects, boot: this.#boot };
    try {
      await tellLeft(parts);
      await takeUpRuns(parts);
    } catch (error) {
      if (held.aborted || this.#stopped) return;
      this.#ctx.log.error({ err: error }, `what was left of runs could not be taken up: ${reasonOf(error)}; tried again in ${LEASE_AGAIN_MS / 1_000} s`);
      this.#ctx.jobs.after(LEASE_AGAIN_MS, () => void this.#takeUp(held));
      return;
    }
    if (!held.aborted && !this.#stopped) this.#clock.start();
  }

  /** Something of a run is due, or one of its sub-processes has ended. */
  async #wake(key: string): Promise<void> {
    const { runId, child, parent } = wokenBy(key);
    try {
      if (parent !== undefined) await this.#parentChanged(runId, parent);
      else if (child === undefined) await this.#due(runId);
      else await this.#childEnded(runId, child);
    } catch (error) {
      if (codeOf(error) !== "SVC_WORKFLOW_RUN_UNKNOWN") throw error;
      await this.#ctx.store.commit([remove(WAKES, key)]);
    }
  }

  async #due(runId: string): Promise<void> {
    await this.host.act(runId, async (batch) => {
      const { entry, steps } = batch.state;
      const inputs = dueInputs(batch.state, Date.now());
      for (const input of inputs) {
        const step = input.kind === "retryDue" ? batch.state.steps[input.step] : undefined;
        if (step === undefined) batch.feed(input);
        else await batch.retryDue(step);
      }
      // Recorded answers need no retry delay.
      const again = entry.kind === "replay" ? Object.values(steps).filter(({ id }) => batch.state.steps[id]?.wait?.kind === "retry") : [];
      for (const step of again) await batch.retryDue(step);
      if (inputs.length + again.length === 0) await batch.takeUp();
      return {};
    });
  }

  async #childEnded(runId: string, childId: string): Promise<void> {
    const child = (await this.rooms.runs.get(childId))?.value;
    const step = child?.state.parentStep;
    if (child !== undefined && step !== undefined && isOver(child.status))
      await this.host.act(runId, async (batch) => {
        // The child may have ended before its parent has recorded the wait. Do not wait for the child of an abandoned attempt.
        const live = batch.state.steps[step];
        if (live?.status === "running" && child.state.startKey === startKeyFor(batch.state, live))
          batch.feed({ kind: "park", at: Date.now(), step, wait: { kind: "child", for: childId } });
        batch.feed(await this.#endOf(child, step, batch));
        return {};
      });
    await this.#ctx.store.commit([remove(WAKES, `${runId}/${childId}`)]);
  }

  /** The end of a sub-process as its parent takes it: the large values of one run are not those of another. */
  async #endOf({ state, ...row }: RunRow, step: string, { shelf }: Batch): Promise<Input> {
    const { id: runId, status, output, error } = state;
    const of = new Shelf(runId, this.rooms.values, row);
    const common = { kind: "childEnded", at: Date.now(), step, runId } as const;
    try {
      const given = {
        ...(output === undefined ? {} : { output: shelf.put(await of.whole(output)) }),
        ...(error === undefined ? {} : { error: (await of.whole(error)) as RunError }),
      };
      return { ...common, status, ...given };
    } catch (thrown) {
      return { ...common, status: "failed", error: faultOf(thrown) };
    }
  }

  #ended({ state }: RunRow): void {
    this.#ends.ended(state.id);
    if (state.parentRunId !== undefined) this.#clock.arm(Date.now());
  }
}
