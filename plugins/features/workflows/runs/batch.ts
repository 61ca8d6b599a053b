import { decide } from "../engine/decide.ts";
import { graphOf, placeOf } from "../engine/graph.ts";
import { pendingCommands } from "../engine/pending.ts";
import type { Command, Decision, Definition, Entry, Input, Node, RunState, StepState } from "../engine/types.ts";
import { accepts, faultOf, isGiven, type Reading, readEmitted, readGiven, readItems, readResult, readWait } from "./reader.ts";
import type { Shelf } from "./shelf.ts";

/** Inputs of a batch. */
export interface BatchOptions {
  readonly definition: Definition;
  /** Undefined for a run that begins. */
  readonly state: RunState | undefined;
  readonly shelf: Shelf;
  /** Of this life of the daemon. */
  readonly boot: string;
  /** False: nothing new is begun here. */
  readonly claims: boolean;
}

/** Limit of entries in one commit: the rest continues in the next, so that other runs get their turn. */
const ENTRIES_LIMIT = 300;

/** Commands that need the commit first. */
const AFTERWARDS = new Set<Command["do"]>([
  "effect",
  "startChild",
  "openIncident",
  "cancelEffect",
  "closeTask",
  "cancelChild",
  "pauseChild",
  "resumeChild",
  "ended",
]);

/**
 * One input of a run, and everything that follows from it without an effect: kinds that only read and wait run on, effects are claimed.
 * All of it is one commit.
 */
export class Batch {
  readonly definition: Definition;
  readonly shelf: Shelf;
  readonly entries: Entry[] = [];
  /** To be done once the entries are stored. */
  readonly after: Command[] = [];
  /** Inputs of the effects claimed here. */
  readonly given = new Map<string, Readonly<Record<string, unknown>>>();
  /** Something is left that could go on at once. */
  unfinished = false;
  readonly #boot: string;
  readonly #claims: boolean;
  #state: RunState | undefined;
  #next: Command[] = [];

  constructor({ definition, state, shelf, boot, claims }: BatchOptions) {
    this.definition = definition;
    this.shelf = shelf;
    this.#state = state;
    this.#boot = boot;
    this.#claims = claims;
  }

  get state(): RunState {
    if (this.#state === undefined) throw new Error("the run has not begun");
    return this.#state;
  }

  /** One input; what follows is left to `settle`. */
  feed(input: Input): Decision {
    const decision = decide(this.definition, this.#state, input);
    if (decision.entries.length === 0) return decision;
    this.#state = decision.state;
    this.entries.push(...decision.entries);
    this.#next.push(...decision.commands);
    return decision;
  }

  /** Follows up what was fed. */
  async settle(): Promise<void> {
    for (let command = this.#next.shift(); command !== undefined; command = this.#next.shift()) {
      if (AFTERWARDS.has(command.do)) this.after.push(command);
      // Claimed steps are processed in the same commit, however many there are.
      else if (command.do === "claim" && this.entries.length >= ENTRIES_LIMIT) this.unfinished = true;
      else await this.#obey(command as Command<"claim" | "evaluate" | "park" | "items" | "openTask">);
    }
  }

  /**
   * Takes up what the state says is to be done, as after a stop or where a commit before ended in the middle: steps that are ready, and
   * those that only read. Effects at work are not touched.
   */
  async takeUp(): Promise<void> {
    this.#next.push(...pendingCommands(this.definition, this.state).filter((command) => !AFTERWARDS.has(command.do)));
    await this.settle();
  }

  /** The steps that wait for a signal of this name and would take it. */
  async matching(name: string, payload: unknown): Promise<readonly string[]> {
    const found: string[] = [];
    for (const step of Object.values(this.state.steps)) {
      if (step.wait?.kind !== "signal" || step.wait.for !== name) continue;
      if (await accepts(this.#reading(step, Date.now()), payload)) found.push(step.id);
    }
    return found;
  }

  /** A node of the definition. Throws for one that the pinned definition does not have. */
  node(id: string): Node {
    return placeOf(graphOf(this.definition), id).node;
  }

  /** Prepares the input of a step's next attempt. */
  async retryDue(step: StepState): Promise<void> {
    await this.#claim(step, (input) => ({ kind: "retryDue", at: Date.now(), step: step.id, boot: this.#boot, ...input }));
  }

  /** Returns the signal that `emitSignal` sends. */
  emitted = (step: StepState) => readEmitted(this.#reading(step, step.claimedAt ?? Date.now()));

  #reading(step: StepState, at: number): Reading {
    return { node: this.node(step.node), step, state: this.state, shelf: this.shelf, at };
  }

  async #obey(command: Command<"claim" | "evaluate" | "park" | "items" | "openTask">): Promise<void> {
    const step = this.state.steps[command.step];
    if (step === undefined) return;
    if (command.do === "claim") {
      if (!this.#claims) this.unfinished = true;
      else await this.#claim(step, (input) => ({ kind: "claim", at: Date.now(), step: step.id, boot: this.#boot, ...input }));
      return;
    }
    if (command.do === "openTask") return this.#openTask(step, command.taskId);
    if (this.node(step.node).kind === "emitSignal") {
      this.after.push({ do: "effect", step: step.id, attempt: step.attempt });
      return;
    }
    const at = step.claimedAt ?? Date.now();
    try {
      this.feed(await this.#read(command.do, step, at));
    } catch (error) {
      this.feed({ kind: "fault", at: Date.now(), step: step.id, error: faultOf(error) });
    }
  }

  async #read(what: "evaluate" | "park" | "items", step: StepState, at: number): Promise<Input> {
    const reading = this.#reading(step, at);
    const common = { at: Date.now(), step: step.id };
    if (what === "park") return { kind: "park", ...common, ...(await readWait(reading)) };
    if (what === "items") {
      const { items, ...need } = await readItems(reading);
      this.shelf.put(items, false);
      return { kind: "items", ...common, items: items.map((item) => this.shelf.put(item, false)), ...need };
    }
    const result = await readResult(reading);
    return { kind: "result", ...common, ...result, ...("output" in result ? { output: this.shelf.put(result.output) } : {}) };
  }

  /** A claim with what the step is given. What cannot be read is a fault of the claimed step: the attempt counts. */
  async #claim(step: StepState, claim: (input: { readonly input?: unknown }) => Input): Promise<void> {
    if (!isGiven(this.node(step.node).kind)) {
      this.feed(claim({}));
      return;
    }
    try {
      const given = await readGiven(this.#reading({ ...step, attempt: step.attempt + 1 }, Date.now()));
      const kept = this.shelf.put(given, false);
      this.given.set(step.id, given);
      this.feed(claim({ input: kept }));
    } catch (error) {
      const { entries, commands } = this.feed(claim({}));
      if (entries.length === 0) return;
      // Nothing is to be begun: the claim's own command goes, the fault has its own.
      this.#next = this.#next.filter((next) => !commands.includes(next));
      this.feed({ kind: "fault", at: Date.now(), step: step.id, error: faultOf(error) });
    }
  }

  #openTask(step: StepState, taskId: string): void {
    const given = this.given.get(step.id) as { readonly due?: number } | undefined;
    const { timeoutAt } = step;
    const wait = {
      kind: "task" as const,
      for: taskId,
      ...(given?.due === undefined ? {} : { due: given.due }),
      ...(timeoutAt === undefined ? {} : { until: timeoutAt }),
    };
    this.feed({ kind: "park", at: Date.now(), step: step.id, wait });
  }
}
