import { isDeepStrictEqual } from "node:util";
import { apply } from "./apply.ts";
import { decide } from "./decide.ts";
import type { Definition, Edge, Node } from "./definition.ts";
import { durationMs } from "./duration.ts";
import type { Entry, RunError, RunHead } from "./entries.ts";
import { graphOf } from "./graph.ts";
import type { Command, Decision, Input } from "./inputs.ts";
import { type Names, namesOf } from "./names.ts";
import { own } from "./own.ts";
import type { RunState, RunStatus, StepState } from "./run-state.ts";
import { dueInputs, nextWake } from "./wakes.ts";

/** What a node does in a simulated run. Without an answer of its own a node does what its definition says, and an effect gives its `in`. */
export interface Answer {
  readonly output?: unknown;
  readonly port?: string;
  readonly ports?: readonly string[];
  readonly error?: { readonly code: string; readonly message?: string; readonly retryable?: boolean };
  readonly items?: readonly unknown[];
  readonly need?: number;
  readonly child?: { readonly status: RunStatus; readonly output?: unknown; readonly error?: RunError };
  /** It begins and never ends by itself. */
  readonly hangs?: true;
}

/** Answers by node. */
export type Answers = Readonly<Record<string, (step: StepState, names: Names) => Answer>>;

interface Options {
  readonly answers?: Answers;
  readonly input?: unknown;
  /** Which of `count` things to do comes next; default the first. */
  readonly pick?: (count: number) => number;
  readonly run?: Partial<RunHead>;
  /** Not every decision is held against its entries: for tests that compare the whole journal with the state. */
  readonly unchecked?: true;
  /** Whether time passes now although there is something to do. */
  readonly hurry?: () => boolean;
}

/** A host without a store that runs one workflow in memory; time passes when nothing else is left to do. Checks each decision. */
export class SimulatedHost {
  readonly journal: Entry[] = [];
  readonly commands: Command[] = [];
  /** What each decision wrote. */
  readonly commits: (readonly Entry[])[] = [];
  state: RunState | undefined;
  now = 1_000;
  /** Commands that were done, in order. */
  readonly done: Command[] = [];
  readonly definition: Definition;
  private readonly options: Options;

  constructor(definition: Definition, options: Options = {}) {
    this.definition = definition;
    this.options = options;
  }

  get run(): RunState {
    if (this.state === undefined) throw new Error("not started");
    return this.state;
  }

  start(prior?: RunState): this {
    const { input = {}, run } = this.options;
    const head: RunHead = { id: "run_1", workflow: this.definition.id, hash: "h", rootId: "root", depth: 0, entry: { kind: "api" }, input, ...run };
    this.give({ kind: "start", at: this.now, run: head, ...(prior === undefined ? {} : { prior }) });
    return this;
  }

  give(input: Input): Decision {
    const decision = this.options.unchecked ? decide(this.definition, this.state, input) : this.checked(input);
    this.journal.push(...decision.entries);
    if (decision.entries.length > 0) this.commits.push(decision.entries);
    this.commands.push(...decision.commands);
    this.state = decision.state;
    return decision;
  }

  private checked(input: Input): Decision {
    const before = this.state;
    const text = JSON.stringify(before);
    const decision = decide(this.definition, before, input);
    if (JSON.stringify(before) !== text) throw new Error("decide has changed the state it was given");
    let folded = before;
    for (const entry of decision.entries) {
      if (entry.seq !== (folded?.seq ?? 0) + 1) throw new Error(`entry ${entry.seq} follows ${folded?.seq}`);
      folded = apply(folded, JSON.parse(JSON.stringify(entry)) as Entry);
    }
    if (!isDeepStrictEqual(plain(folded), plain(decision.state))) throw new Error("the state is not the fold of its entries");
    return decision;
  }

  /** Does what there is to do until nothing is left but people, signals and effects that hang. */
  drain(): this {
    while (this.next()) if (this.journal.length > 200_000) throw new Error("the run does not come to an end");
    return this;
  }

  /** One thing; false when nothing was left. */
  next(): boolean {
    if (this.options.hurry?.() && this.tick()) return true;
    const command = this.commands.splice(this.commands.length === 0 ? 0 : (this.options.pick?.(this.commands.length) ?? 0), 1)[0];
    if (command !== undefined) {
      this.done.push(command);
      this.work(command);
      return true;
    }
    return this.tick();
  }

  /** Time passes until the next thing is due; false where nothing is. */
  tick(): boolean {
    const wake = this.state === undefined ? undefined : nextWake(this.state);
    if (wake === undefined) return false;
    this.now = Math.max(this.now, wake);
    for (const input of dueInputs(this.run, this.now)) this.give(input);
    return true;
  }

  /** The live steps of a node. */
  live(node: string): readonly StepState[] {
    return Object.values(this.run.steps).filter((step) => step.node === node);
  }

  private work(command: Command): void {
    if (!("step" in command)) return;
    const step = this.run.steps[command.step];
    if (step === undefined) return;
    const at = this.now;
    if (command.do === "claim") this.give({ kind: step.wait?.kind === "retry" ? "retryDue" : "claim", at, step: step.id });
    else if (step.status === "running") this.answer(command, step, at);
  }

  private answer(command: Command, { id: step }: StepState, at: number): void {
    const live = this.run.steps[step] as StepState;
    const { node } = graphOf(this.definition).places.get(live.node) ?? {};
    if (node === undefined) throw new Error(`no node '${live.node}'`);
    const names = namesOf(this.run, step);
    const answer = own(this.options.answers ?? {}, node.id)?.(live, names) ?? {};
    if (answer.error !== undefined) {
      const { code, message = code, retryable } = answer.error;
      this.give({ kind: "fault", at, step, error: { code, message }, ...(retryable === undefined ? {} : { retryable }) });
      return;
    }
    switch (command.do) {
      case "openTask": {
        const due = "due" in node && node.due !== undefined ? { due: at + (durationMs(node.due) ?? 0) } : {};
        this.give({ kind: "park", at, step, wait: { kind: "task", for: command.taskId, ...due } });
        return;
      }
      case "park":
        if (node.kind === "timer") this.give({ kind: "park", at, step, wait: { kind: "timer", for: step, until: at + (durationMs(node.for ?? "0s") ?? 0) } });
        else if (node.kind === "waitSignal") this.give({ kind: "park", at, step, wait: { kind: "signal", for: node.signal } });
        return;
      case "items": {
        const items = answer.items ?? (node.kind === "forEach" ? (read(node.items, names) as unknown[]) : []);
        const need = answer.need ?? (node.kind === "forEach" && typeof node.need === "number" ? node.need : undefined);
        this.give({ kind: "items", at, step, items, ...(need === undefined ? {} : { need }) });
        return;
      }
      case "startChild": {
        const runId = `run_${command.startKey}`;
        this.give({ kind: "park", at, step, wait: { kind: "child", for: runId } });
        if (!answer.hangs) this.give({ kind: "childEnded", at, step, runId, ...(answer.child ?? { status: "completed", output: names.in }) });
        return;
      }
      default:
        if (!answer.hangs) this.give(this.resultOf(node, step, answer, names));
    }
  }

  private resultOf(node: Node, step: string, answer: Answer, names: Names): Input {
    const given = { kind: "result", at: this.now, step } as const;
    if (node.kind === "branch" || node.kind === "multiChoice")
      return { ...given, ...(answer.ports === undefined ? {} : { ports: answer.ports }), ...(answer.port === undefined ? {} : { port: answer.port }) };
    if (node.kind === "set") return { ...given, output: "output" in answer ? answer.output : read(node.value, names) };
    if (node.kind === "end") return { ...given, output: "output" in answer ? answer.output : node.output === undefined ? names.in : read(node.output, names) };
    if (node.kind === "fail") return { ...given, output: { message: node.message } };
    if (node.kind === "emitSignal") {
      const { entries } = this.give({
        kind: "signal",
        at: this.now,
        name: node.signal,
        payload: names.in,
        ...(node.stored === undefined ? {} : { stored: node.stored }),
      });
      const count = (kind: string) => entries.filter((entry) => entry.kind === kind).length;
      return { ...given, output: { delivered: count("signal.delivered"), stored: count("signal.stored"), dropped: count("signal.dropped") } };
    }
    return { ...given, output: "output" in answer ? answer.output : names.in };
  }
}

/** Paths such as `in.reply`, `in[0].status`, `input.a` stand for expressions here. */
function read(template: unknown, names: Names): unknown {
  if (Array.isArray(template)) return template.map((one) => read(one, names));
  if (template !== null && typeof template === "object") return Object.fromEntries(Object.entries(template).map(([key, one]) => [key, read(one, names)]));
  if (typeof template !== "string") return template;
  const path = /^\{\{\s*([\w.[\]]+)\s*\}\}$/.exec(template)?.[1];
  if (path === undefined) return template;
  return path.split(/[.[\]]+/).reduce<unknown>((value, key) => (key === "" ? value : (value as Record<string, unknown> | undefined)?.[key]), names) ?? null;
}

/** Edges in one line: `start > a, a.error > b`. */
export const edges = (text: string): Edge[] =>
  text
    .split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "")
    .map((one) => {
      const [source = "", to = ""] = one.split(">").map((part) => part.trim());
      const [from = "", fromPort] = source.split(".");
      return { from, to, ...(fromPort === undefined ? {} : { fromPort }) };
    });

/** A definition of nodes by id, without the ids, and edges in one line; nodes that only the edges name are of kind `set` and hand on `in`. */
export function workflow(text: string, nodes: Readonly<Record<string, object>> = {}, top: Partial<Definition> = {}): Definition {
  const list = edges(text);
  return { id: "flow", ...top, nodes: nodesOf(list, { start: { kind: "trigger" }, ...nodes }), edges: list };
}

/** The body of a `forEach`, written in the same way. */
export function body(start: string, text: string, nodes: Readonly<Record<string, object>> = {}): { start: string; nodes: readonly Node[]; edges: Edge[] } {
  const list = edges(text);
  return { start, nodes: nodesOf(list, { ...(nodes[start] === undefined ? { [start]: SET } : {}), ...nodes }), edges: list };
}

const SET = { kind: "set", value: "{{ in }}" };

function nodesOf(list: readonly Edge[], given: Readonly<Record<string, object>>): readonly Node[] {
  const named = list.flatMap(({ from, to }) => [from, to]);
  const all = [...new Set([...Object.keys(given), ...named])];
  return all.map((id) => ({ id, ...(own(given, id) ?? SET) }) as Node);
}

/** A journal in a form that tests can read: one short line an entry. */
export function lines(journal: readonly Entry[], leaveOut: readonly string[] = []): string[] {
  return journal.filter(({ kind }) => !leaveOut.includes(kind)).map(lineOf);
}

function lineOf(entry: Entry): string {
  switch (entry.kind) {
    case "step.ended":
      return `ended ${entry.step} [${entry.ports.join(",")}]`;
    case "step.failed":
      return `failed ${entry.step} ${entry.error.code} ${entry.port}`;
    case "step.retry":
      return `retry ${entry.step} ${entry.due - entry.at} ms`;
    case "port.dead":
      return `dead ${entry.step} [${entry.ports.join(",")}]`;
    case "join.arrived":
    case "join.late":
      return `${entry.kind} ${entry.node} from ${entry.from}`;
    case "join.fired":
    case "join.short":
      return `${entry.kind} ${entry.step}`;
    case "join.dropped":
      return `${entry.kind} ${entry.node}`;
    case "item.started":
    case "scope.dropped":
      return `${entry.kind} ${entry.index}`;
    case "item.ended":
      return `item.ended ${entry.index} ${entry.ok ? "ok" : "not ok"}`;
    case "run.failed":
      return `run.failed ${entry.error.code}`;
    default:
      return "step" in entry && entry.step !== undefined ? `${entry.kind.replace("step.", "")} ${entry.step}` : entry.kind;
  }
}

/** Numbers from a seed: the same seed gives the same run. */
export function randomOf(seed: number): (below: number) => number {
  let state = (seed * 2_654_435_761) >>> 0 || 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state % below;
  };
}

const plain = (value: unknown) => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));
