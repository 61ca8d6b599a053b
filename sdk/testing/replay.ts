import type { TurnOptions } from "../messages.ts";
import type { Plugin } from "../plugin.ts";
import type { Child, ChildEnd, Spawn } from "../processes.ts";
import type { Tier, TierEvent, TurnContext } from "../tier.ts";
import { keepsSessions } from "../tier-abilities.ts";
import { createFakeContext } from "./fake-context.ts";
import { createMemoryFiles } from "./memory-files.ts";

/** A turn of a recording: the request to the tier. */
export interface RecordedTurn {
  readonly prompt: string;
  readonly system?: string;
  readonly model?: string;
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly options?: TurnOptions;
  /** Continues the session that the previous turn reported. */
  readonly resume?: boolean;
  /** The session to resume, by id. */
  readonly session?: string;
  /** Aborts at an event of this type. */
  readonly abortOn?: TierEvent["type"];
}

/** One line of a recording, in the order in which things happened. `process` counts the processes from 0. */
export type Recorded =
  | { readonly turn: RecordedTurn }
  | { readonly process: number; readonly start: readonly string[] }
  | { readonly process: number; readonly out: string }
  | { readonly process: number; readonly in: unknown }
  | { readonly process: number; readonly close: true }
  | { readonly process: number; readonly stop: true }
  | { readonly process: number; readonly end: ChildEnd }
  | { readonly event: TierEvent };

/** Result of a replay. */
export interface Replay {
  readonly events: readonly TierEvent[];
  /** The events of the recording. */
  readonly expected: readonly TierEvent[];
  /** Where the tier did something else than it did when the recording was made. Empty when nothing differs. */
  readonly differences: readonly string[];
}

/** Reads a recording: one JSON object a line. */
export const readRecording = (text: string): readonly Recorded[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Recorded);

/**
 * Runs a tier against the recorded output of a real program, and compares the tier's input to the program and its events with the recording.
 * Durations are omitted and session ids are not compared.
 */
export async function replayTier(
  plugin: Plugin<never>,
  recording: readonly Recorded[],
  given: { readonly config: Record<string, unknown>; readonly env: Readonly<Record<string, string>> },
): Promise<Replay> {
  const player = createPlayer(recording);
  const context = createFakeContext(plugin as never, {
    ...given,
    spawn: player.spawn,
    files: createMemoryFiles(),
    agents: [{ id: "agent", workspace: "/workspace", tier: plugin.name }],
  });
  plugin.setup(context as never);
  const tier = context.registered.tiers[0] as Tier;
  const events: TierEvent[] = [];
  let session: string | undefined;
  for (const [index, turn] of recording.flatMap((entry) => ("turn" in entry ? [entry.turn] : [])).entries()) {
    const abort = new AbortController();
    const resumed = turn.session ?? (turn.resume ? session : undefined);
    for await (const event of tier.run(...turnOf(tier, index, turn, resumed), abort.signal)) {
      events.push(event);
      if (event.type === "session") session = event.id;
      if (event.type === turn.abortOn) abort.abort();
    }
  }
  return {
    events: events.map(comparable),
    expected: recording.flatMap((entry) => ("event" in entry ? [comparable(entry.event)] : [])),
    differences: player.differences(),
  };
}

function turnOf(
  tier: Tier,
  index: number,
  { prompt, system = "", model, settings = {}, options }: RecordedTurn,
  session: string | undefined,
): [Parameters<Tier["run"]>[0], TurnContext] {
  const id = `task_${index}`;
  return [
    {
      id,
      rootId: id,
      agent: {
        id: "agent",
        name: "agent",
        workspace: "/workspace",
        tier: tier.name,
        mentions: [],
        access: "private",
        settings,
        ...(model === undefined ? {} : { model }),
      },
      route: { agent: "agent", conversation: "agent:test:-:chat", reply: { channel: "test", chat: "chat" } },
      messages: [
        { id, rootId: id, at: 0, attempts: 0, entry: "task", channel: "test", chat: "chat", text: prompt, ...(options === undefined ? {} : { options }) },
      ],
      attempt: 1,
      startedAt: 0,
      strategy: "",
      nativeSessions: keepsSessions(tier),
      ended: new Promise(() => {}),
    },
    { system, layers: [], prompt, media: [], history: [], ...(session === undefined ? {} : { session }) },
  ];
}

function comparable(event: TierEvent): TierEvent {
  if (event.type === "session") return { type: "session", id: "-" };
  if (event.type !== "step") return event;
  const { durationMs: _, ...step } = event.step;
  return { type: "step", step };
}

/** Plays the processes of a recording, one for each call of `spawn`. */
function createPlayer(recording: readonly Recorded[]): { readonly spawn: Spawn; differences(): string[] } {
  const differences: string[] = [];
  let started = 0;
  const spawn: Spawn = (_command, args, options) => {
    const process = started++;
    const script = recording.filter((entry) => "process" in entry && entry.process === process);
    const begin = script[0];
    // Paths differ between machines.
    const plain = (list: readonly string[]) => JSON.stringify(list.filter((argument) => !argument.includes("/")));
    if (begin === undefined || !("start" in begin)) differences.push(`process ${process} was not recorded`);
    else if (plain(begin.start) !== plain(args)) differences.push(`process ${process} starts with ${plain(args)} instead of ${plain(begin.start)}`);
    return play(process, script.slice(1), options.onLine ?? (() => undefined), differences);
  };
  return {
    spawn,
    differences() {
      const recorded = new Set(recording.flatMap((entry) => ("process" in entry ? [entry.process] : []))).size;
      return started === recorded ? differences : [...differences, `${started} processes instead of ${recorded}`];
    },
  };
}

function play(process: number, script: readonly Recorded[], onLine: (line: string) => void, differences: string[]): Child {
  const acts: string[] = [];
  let wake: (() => void) | undefined;
  let stopped = false;
  let left = false;
  const act = (what: string) => {
    acts.push(what);
    wake?.();
  };
  const acted = async (): Promise<string> => {
    for (let next = acts.shift(); ; next = acts.shift()) {
      if (next !== undefined) return next;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  const ended = (async (): Promise<ChildEnd> => {
    await Promise.resolve();
    for (const entry of script) {
      if ("end" in entry) return entry.end;
      if ("out" in entry) {
        // As a pipe would: never within the call that made the program speak.
        await new Promise((resolve) => setTimeout(resolve));
        if (!stopped) onLine(entry.out);
        continue;
      }
      const wanted = "in" in entry ? JSON.stringify(entry.in) : "close" in entry ? "close" : "stop";
      const found = await acted();
      if (found !== wanted) differences.push(`process ${process}: ${found.slice(0, 400)} instead of ${wanted.slice(0, 400)}`);
    }
    while (!stopped && !left) await acted();
    return { code: 0, signal: null, stdout: "", stderr: "", truncated: false };
  })();
  return {
    pid: 1000 + process,
    started: Promise.resolve(),
    ended,
    async write(data) {
      act(data.trimEnd());
    },
    closeStdin() {
      left = true;
      act("close");
    },
    async stop() {
      stopped = true;
      act("stop");
    },
  };
}
