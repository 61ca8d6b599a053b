import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { definePlugin, type Plugin, type TurnContext, turnText } from "@svc/sdk";
import { fail } from "../errors.ts";
import type { OwnGroup } from "../group.ts";
import { kernelCode } from "../kernel-code.ts";
import { table } from "../table.ts";

const group: OwnGroup = {
  name: "bench",
  summary: "Measure: what each context strategy costs on a transcript",
  commands: [
    {
      name: "context",
      args: "<transcript.json>",
      summary: "Play a transcript through both context strategies and compare what the engine is sent and reads",
      async run([file = ""], _options, cli) {
        const exchanges = readTranscript(file, await readFile(file, "utf8").catch((error) => unusable(file, error.message)));
        const [layered, planner] = [await measure("layered", exchanges), await measure("planner", exchanges)];
        const fallbacks = planner.filter(({ strategy }) => strategy !== "planner").length;
        cli.print(report(layered, planner, fallbacks), { turns: exchanges.length, layered, planner, plannerFallbacks: fallbacks });
      },
    },
  ],
};

export default group;

/** A request and the answer that it got. */
interface Exchange {
  readonly request: string;
  readonly answer: string;
}

/** One turn as an engine with native sessions sees it. */
interface Measured {
  readonly turn: number;
  /** The strategy that built it: `planner` leaves a turn to `layered` when its model does not decide. */
  readonly strategy: string;
  /** The session is resumed: its contents are read again. */
  readonly resumed: boolean;
  /** Characters sent for this turn: preamble, layers and the request. */
  readonly sent: number;
  /** Tokens read for this turn, including the session's, at 4 characters a token. */
  readonly reads: number;
}

const FEATURES = ["feature-sessions", "feature-context-layered", "feature-context-planner", "feature-models"];

/** `[{"role": "user" | "assistant", "text" | "content": "..."}]`, or an object with such a list in `messages`. */
function readTranscript(file: string, text: string): Exchange[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    return unusable(file, (error as Error).message);
  }
  const list = Array.isArray(parsed) ? parsed : (parsed as { messages?: unknown } | null)?.messages;
  if (!Array.isArray(list)) return unusable(file, "it holds no list of messages");
  const exchanges: { request: string; answer: string }[] = [];
  for (const [at, message] of list.entries()) {
    const { role, text: words = (message as { content?: unknown } | null)?.content } = (message ?? {}) as { role?: unknown; text?: unknown };
    if ((role !== "user" && role !== "assistant") || typeof words !== "string")
      return unusable(file, `message ${at} needs a role, user or assistant, and a text`);
    const last = exchanges.at(-1);
    if (role === "user") exchanges.push({ request: words, answer: "" });
    else if (last !== undefined) last.answer = [last.answer, words].filter(Boolean).join("\n\n");
  }
  return exchanges.length === 0 ? unusable(file, "nobody asks anything in it") : exchanges;
}

function unusable(file: string, reason: string): never {
  throw fail("SVC_CLI_USAGE", { reason: `${file} is no transcript: ${reason}` });
}

/** Plays the transcript through a kernel of its own, with an engine that gives the answers of the transcript. */
async function measure(strategy: "layered" | "planner", exchanges: readonly Exchange[]): Promise<Measured[]> {
  const { createKernel } = kernelCode();
  const { firstParty } = await import("../catalog.js");
  const folder = await mkdtemp(join(tmpdir(), "svc-bench-"));
  const engine = replay(exchanges);
  const kernel = await createKernel({
    config: {
      node: { id: "bench", name: "bench" },
      session: { contextStrategy: strategy },
      agents: { bench: { name: "Bench", workspace: "./w", tier: "bench" } },
    },
    folder,
    dataFolder: join(folder, "data"),
    env: process.env,
    plugins: [engine.plugin],
    known: firstParty()
      .filter(({ manifest }) => FEATURES.includes(`${manifest.kind}-${manifest.name}`))
      .map(({ folder: known }) => known),
  });
  try {
    await kernel.start();
    for (const { request } of exchanges) await kernel.tasks.run({ entry: "task", channel: "http", chat: "bench", agent: "bench", text: request });
    return engine.measured;
  } finally {
    await kernel.stop({ drainSeconds: 0 });
    await rm(folder, { recursive: true, force: true });
  }
}

/** An engine that keeps sessions as the command-line engines do, and counts instead of thinking. */
function replay(exchanges: readonly Exchange[]): { readonly plugin: Plugin<never>; readonly measured: Measured[] } {
  const measured: Measured[] = [];
  /** Characters that the session holds. */
  let held = 0;
  const count = (context: TurnContext): Measured => {
    const turn = measured.length + 1;
    if (context.session === undefined) held = 0;
    const words = turnText(context).length;
    held += words;
    const reads = Math.ceil((context.system.length + held) / 4);
    return { turn, strategy: context.strategy ?? "none", resumed: context.session !== undefined, sent: context.system.length + words, reads };
  };
  const plugin = definePlugin({
    kind: "tier",
    name: "bench",
    version: "0.1.0",
    svc: "^0.1.0",
    capabilities: [],
    setup(ctx) {
      ctx.provide.tier({
        name: "bench",
        nativeSessions: true,
        async *run(_turn, context) {
          const one = count(context);
          measured.push(one);
          const answer = exchanges[one.turn - 1]?.answer ?? "";
          held += answer.length;
          yield { type: "session", id: context.session ?? `bench-${one.turn}` };
          yield { type: "usage", usage: { input: one.reads, output: Math.ceil(answer.length / 4) } };
          yield { type: "done", text: answer };
        },
      });
    },
  });
  return { plugin: plugin as Plugin<never>, measured };
}

function report(layered: readonly Measured[], planner: readonly Measured[], fallbacks: number): string {
  const sum = (list: readonly Measured[], key: "sent" | "reads") => String(list.reduce((total, one) => total + one[key], 0));
  const rows = layered.map((left, at) => {
    const right = planner[at] as Measured;
    const notes = [left.resumed || at === 0 ? "" : "layered: new session", right.strategy === "planner" ? "" : "planner: fell back"].filter(Boolean);
    return [String(left.turn), String(left.sent), String(left.reads), String(right.sent), String(right.reads), notes.join(", ")];
  });
  const total = ["all", sum(layered, "sent"), sum(layered, "reads"), sum(planner, "sent"), sum(planner, "reads"), ""];
  const head = ["TURN", "LAYERED CHARS SENT", "TOKENS READ", "PLANNER CHARS SENT", "TOKENS READ", "NOTE"];
  const hint =
    fallbacks === 0
      ? ""
      : `\nThe planner fell back to layered on ${fallbacks} of ${planner.length} turns; it needs ANTHROPIC_API_KEY or OPENAI_API_KEY and a model that answers in time.`;
  return `${table([head, ...rows, total])}${hint}`;
}
