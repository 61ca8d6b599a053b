import { definePlugin, type Plugin, type TierEvent, type Turn, type TurnContext } from "@svc/sdk";

/** A tier whose turns the test holds in its hands. */
export interface Scripted {
  readonly plugin: Plugin;
  /** Prompts in the order in which their turns began. */
  readonly prompts: string[];
  readonly turns: { turn: Turn; context: TurnContext; signal: AbortSignal }[];
  /** Lets the oldest held turn end; `text` is its answer. */
  release(text?: string): void;
  /** Turns that wait for `release`. */
  readonly held: number;
}

/**
 * A prompt that begins with `hold` waits for `release`; `deaf` never ends and ignores its signal; `fail` ends with an error;
 * `throw` throws; `silent` ends without a result; `tool <name>` uses a tool; `usage <input> <output> <read> <created>` tells those
 * tokens; `overflow` tells 200,000 tokens and fails as too long for its session, and is said back without one; anything else is said back in two pieces. With `nativeSessions` a turn without a session starts one of a new id.
 */
export function scriptedTier(
  name = "scripted",
  traits: { enforcesAutonomy?: boolean; nativeSessions?: boolean; actions?: () => readonly string[] } = {},
): Scripted {
  const prompts: string[] = [];
  const turns: Scripted["turns"] = [];
  const waiting: ((text: string) => void)[] = [];
  let sessions = 0;
  const sessionOf = (context: TurnContext) => (traits.nativeSessions ? (context.session ?? `native-${++sessions}`) : "native-1");
  async function* run(turn: Turn, context: TurnContext, signal: AbortSignal): AsyncIterable<TierEvent> {
    const { prompt } = context;
    prompts.push(prompt);
    turns.push({ turn, context, signal });
    const [word] = prompt.split(" ");
    if (word === "deaf") await new Promise(() => {});
    if (word === "throw") throw new Error("the engine broke");
    if (word === "silent") return;
    if (word === "fail") {
      yield { type: "error", kind: "engine", message: "the engine said no" };
      return;
    }
    if (word === "overflow" && context.session !== undefined) {
      yield { type: "usage", usage: { input: 200_000, output: 1, cost: 0.5 }, model: "scripted-1" };
      yield { type: "error", kind: "context", message: "the prompt is too long" };
      return;
    }
    if (word === "tool") {
      yield { type: "step", step: { id: "t1", name: prompt.split(" ")[1] ?? "tool", phase: "start", input: "in" } };
      yield { type: "step", step: { id: "t1", name: prompt.split(" ")[1] ?? "tool", phase: "end", output: "out" } };
    }
    if (word === "hold") {
      if (traits.nativeSessions) yield { type: "session", id: sessionOf(context) };
      yield { type: "text", text: "begun " };
      const text = await new Promise<string | undefined>((resolve) => {
        waiting.push(resolve);
        signal.addEventListener("abort", () => {
          waiting.splice(waiting.indexOf(resolve), 1);
          resolve(undefined);
        });
      });
      if (text === undefined) return;
      yield { type: "text", text };
      yield { type: "done" };
      return;
    }
    yield { type: "text", text: prompt.slice(0, 1) };
    yield { type: "text", text: prompt.slice(1) };
    const [input = 3, output = 2, cacheRead = 0, cacheCreate = 0] = word === "usage" ? prompt.split(" ").slice(1).map(Number) : [];
    yield { type: "usage", usage: word === "usage" ? { input, output, cacheRead, cacheCreate } : { input, output }, model: "scripted-1" };
    yield { type: "session", id: sessionOf(context) };
    yield { type: "done" };
  }
  const plugin = definePlugin({
    kind: "tier",
    name,
    version: "1.0.0",
    svc: "^0.1.0",
    capabilities: [],
    setup: (ctx) => ctx.provide.tier({ name, ...traits, run }),
  });
  return {
    plugin,
    prompts,
    turns,
    release: (text = "ended") => waiting.shift()?.(text),
    get held() {
      return waiting.length;
    },
  };
}
