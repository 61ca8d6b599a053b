import type { Caller, EventStream, Message, PluginContext, TaskEvent, Trace, TraceStep } from "@svc/sdk";
import { stateOf, type TaskState, tokensOf, workingOf } from "./task-row.ts";

/** Turn of a chat: a message of a person, and the agent's answer. */
export interface ChatTurn {
  /** The task. */
  readonly id: string;
  readonly at: number;
  readonly said: string;
  readonly state: TaskState;
  readonly answer?: string;
  readonly error?: string;
  readonly durationMs?: number;
  readonly tokens?: number;
  /** The task whose answer is the answer to this one, too. */
  readonly lead?: string;
}

/** A chat of a caller with an agent, the oldest turn first. */
export interface ChatView {
  readonly agent: string;
  /** The chat that goes on. */
  readonly chat: string;
  readonly turns: readonly ChatTurn[];
}

/** Output so far of a running task, for a page that joins in the middle. */
export interface ChatSoFar {
  readonly text: string;
  readonly steps: readonly ChatStep[];
}

/** A step as a chat shows it. */
export interface ChatStep {
  readonly name: string;
  readonly at: number;
  readonly durationMs?: number;
  readonly input?: string;
  readonly error?: string;
}

/** Channel of all chats of the dashboard. */
export const CHAT_CHANNEL = "dashboard";
/** The chat before a person begins a new one. */
const FIRST = "page";
const TURNS = 60;
/** Traces that are looked through for the turns of one chat. */
const LOOKED = 1_000;
const MOST_TEXT = 2_000_000;

interface Followed {
  text: string;
  readonly streams: Set<EventStream>;
}

interface Told {
  readonly followed: Followed;
  hear(event: TaskEvent): void;
  end(name: "done" | "interrupted", data: unknown): void;
}

/** Account of callers without a token. */
const LOCAL = "local";

type Sources = Pick<PluginContext, "tasks" | "traces" | "log" | "signal">;

/** Returns the account of a caller: conversations of two tokens are never the same. */
const accountOf = (caller: Caller): string => caller.token?.id ?? LOCAL;

/** Chats of the people at the dashboard with its agents, on the path that every message takes. */
export class AgentChats {
  readonly #ctx: Sources;
  /** Output of tasks in progress, by task. */
  readonly #followed = new Map<string, Followed>();

  constructor(ctx: Sources) {
    this.#ctx = ctx;
  }

  /** The caller's chat with the agent: the one that is named, else the newest. */
  async view(agent: string, caller: Caller, chat?: string): Promise<ChatView> {
    const { tasks, traces } = this.#ctx;
    const account = accountOf(caller);
    const working = workingOf(tasks.running(), tasks.queued());
    const turns: ChatTurn[] = [];
    let found = chat;
    for (let below: string | undefined, looked = 0; looked < LOOKED && turns.length < TURNS; looked += TURNS) {
      const page: readonly Trace[] = await traces.list({ agent, channel: CHAT_CHANNEL, limit: TURNS, ...(below === undefined ? {} : { below }) });
      for (const trace of page) {
        if (trace.account !== account || trace.chat.startsWith(REPLAY) || trace.chat !== (found ?? trace.chat)) continue;
        found ??= trace.chat;
        if (turns.length < TURNS) turns.push(turnOf(trace, working.get(trace.id)));
      }
      below = page.at(-1)?.id;
      if (page.length < TURNS) break;
    }
    return { agent, chat: found ?? FIRST, turns: turns.reverse() };
  }

  /** Hands a message to the agent; resolves when it is stored. With `replace` the task of that id is stopped and this one takes its place. */
  async say(agent: string, text: string, chat: string, caller: Caller, replace?: string): Promise<{ readonly taskId: string }> {
    const { tasks } = this.#ctx;
    const accepted = replace === undefined ? undefined : await tasks.followup(replace, { text, replace: true, sender: caller.token?.id ?? LOCAL });
    if (accepted !== undefined) {
      this.#follow(accepted.taskId);
      return { taskId: accepted.taskId };
    }
    return new Promise((resolve, reject) => {
      let told: Told | undefined;
      const hear = (event: TaskEvent) => {
        if (event.type === "accepted") {
          told = this.#tell(event.taskId);
          resolve({ taskId: event.taskId });
        }
        told?.hear(event);
      };
      tasks.run(this.#message(agent, text, chat, caller), hear).then(
        (result) => told?.end("done", result),
        (error: Error) => {
          told?.end("interrupted", { error: error.message });
          reject(error);
        },
      );
    });
  }

  /** Runs the message of a task once more, beside the first. */
  async replay(
    trace: Trace,
    change: { readonly message?: string; readonly agent?: string; readonly strategy?: string },
    caller: Caller,
  ): Promise<{ readonly taskId: string }> {
    const { message = trace.message ?? trace.messagePreview ?? "", agent = trace.agent, strategy } = change;
    const asked = this.#message(agent, message, `${REPLAY}${trace.id}`, caller);
    const options = { freshSession: true, ...(strategy === undefined ? {} : { contextStrategy: strategy }) };
    const { taskId } = await this.#ctx.tasks.accept({ ...asked, options });
    return { taskId };
  }

  /** Tells a page what a task says, from what it has said so far to its end. */
  async attach(task: string, stream: EventStream): Promise<void> {
    const trace = await this.#ctx.traces.get(task);
    const followed = this.#follow(task);
    stream.event("so-far", { text: followed.text, steps: (trace?.steps ?? []).map(stepOf) } satisfies ChatSoFar);
    followed.streams.add(stream);
  }

  #message(agent: string, text: string, chat: string, caller: Caller): Message {
    const { token } = caller;
    return {
      entry: "task",
      channel: CHAT_CHANNEL,
      account: accountOf(caller),
      chat,
      text,
      agent,
      direct: true,
      sender: { id: token?.id ?? LOCAL, ...(token === undefined ? {} : { name: token.name }) },
    };
  }

  /** Follows a task until it ends; one that is no longer in progress here is answered from its record. */
  #follow(task: string): Followed {
    const known = this.#followed.get(task);
    if (known !== undefined) return known;
    const { followed, hear, end } = this.#tell(task);
    const { tasks, signal } = this.#ctx;
    tasks.result(task, signal, hear).then(
      (result) => end("done", result),
      // The daemon stops: the task goes on after its start, and so does the page.
      (error: Error) => end("interrupted", { error: error.message }),
    );
    return followed;
  }

  #tell(task: string): Told {
    const followed: Followed = { text: "", streams: new Set() };
    this.#followed.set(task, followed);
    const tell = (name: string, data: unknown) => {
      for (const stream of followed.streams) if (!stream.event(name, data)) followed.streams.delete(stream);
    };
    return {
      followed,
      hear({ type, ...facts }) {
        if (type === "text" && followed.text.length < MOST_TEXT) followed.text += (facts as { text: string }).text;
        if (type !== "thinking") tell(type, facts);
      },
      end: (name, data) => {
        this.#followed.delete(task);
        tell(name, data);
        for (const stream of followed.streams) stream.end();
      },
    };
  }
}

/** Chats that are replays of a task begin so. */
const REPLAY = "replay-";

function turnOf(trace: Trace, working: "running" | "waiting" | "queued" | undefined): ChatTurn {
  const { id, startedAt, message, response, error, durationMs, usage, lead } = trace;
  return {
    id,
    at: startedAt,
    said: message ?? trace.messagePreview ?? "",
    state: stateOf(trace, working),
    ...(response === undefined || lead !== undefined ? {} : { answer: response }),
    ...(error === undefined ? {} : { error }),
    ...(durationMs === undefined ? {} : { durationMs }),
    ...(usage === undefined ? {} : { tokens: tokensOf(usage) }),
    ...(lead === undefined ? {} : { lead }),
  };
}

const stepOf = ({ name, at, durationMs, input, error }: TraceStep): ChatStep => ({
  name,
  at,
  ...(durationMs === undefined ? {} : { durationMs }),
  ...(input === undefined ? {} : { input }),
  ...(error === undefined ? {} : { error }),
});
