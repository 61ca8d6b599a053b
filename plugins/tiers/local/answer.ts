import { type PluginContext, type TierEvent, type Turn, type TurnContext, withTimeout } from "@svc/sdk";
import { command } from "./commands.ts";
import { piecesOf } from "./pieces.ts";
import type { Found, Library, Workspace } from "./workspace.ts";

/** Pieces of about this many characters, so that a reader sees the answer grow. */
const PIECE = 160;
const SHOWN = 5;
/** A passage is quoted up to this many characters; the reader knows where the rest is. */
const QUOTED = 600;

/** The prompt and the history. */
type Heard = Pick<TurnContext, "prompt" | "history">;

/** Answers one turn: a chat command, or the passages of the workspace that fit the words best. */
export async function* answer(ctx: PluginContext, library: Library, turn: Turn, context: Heard, signal: AbortSignal): AsyncIterable<TierEvent> {
  const text = context.prompt.trim();
  if (text.startsWith("/")) {
    yield* said(await command(ctx, library, turn, text, signal), signal);
    return;
  }
  const began = Date.now();
  yield { type: "step", step: { id: "search", name: "search-workspace", phase: "start", input: text.slice(0, 200) } };
  const workspace = await unlessAborted(library.open(turn.agent.workspace), signal);
  if (workspace === undefined) return;
  const found = workspace.search(text, SHOWN);
  yield {
    type: "step",
    step: {
      id: "search",
      name: "search-workspace",
      phase: "end",
      output: `${found.length} passages in ${workspace.files} files`,
      durationMs: Date.now() - began,
    },
  };
  const reply = found.length === 0 ? nothing(turn, text, workspace.files) : passages(turn, found);
  yield* said(context.history.some(({ text: earlier }) => earlier.includes(HONEST)) ? reply : `${reply}\n\n${HONEST} ${NEXT}`, signal);
}

/** Others may wait for the same reading: it goes on, and only this turn stops waiting. */
function unlessAborted(reading: Promise<Workspace>, signal: AbortSignal): Promise<Workspace | undefined> {
  return withTimeout(reading, Number.POSITIVE_INFINITY, () => undefined, signal);
}

async function* said(text: string, signal: AbortSignal): AsyncIterable<TierEvent> {
  for (const piece of piecesOf(text, Math.ceil(text.length / PIECE))) {
    if (signal.aborted) return;
    yield { type: "text", text: piece };
    // Each piece is its own moment on the wire.
    await new Promise((resolve) => setImmediate(resolve));
  }
  yield { type: "done", text };
}

/** Said once in a conversation. */
const HONEST = "I am no language model: I search the text files of this agent's workspace.";
const NEXT = "Its operator can choose a language model with: svc setup";

const GREETING = /^(?:hello|hi|hey|good (?:morning|afternoon|evening)|hallo|moin|servus|bonjour|hola|ciao)\b[\s!.,\p{L}]{0,20}$/iu;

function passages({ agent }: Turn, found: readonly Found[]): string {
  const quoted = found.map(({ file, line, text }) => `${quoteOf(text)}\n— ${file}:${line}`);
  return `From the workspace of ${agent.name}:\n\n${quoted.join("\n\n")}`;
}

function quoteOf(text: string): string {
  const [start = ""] = piecesOf(text, Math.ceil(text.length / QUOTED));
  return (start === text ? text : `${start.trimEnd()} …`).replaceAll(/^/gm, "> ");
}

function nothing({ agent }: Turn, question: string, files: number): string {
  if (GREETING.test(question)) return `Hello from ${agent.name}. Ask me about what stands in the files of my workspace, or say /help.`;
  if (files === 0) return `The workspace of ${agent.name} holds no text files yet, so I know nothing. Say /help for what I can do.`;
  return `Nothing in the ${files} text files of ${agent.name}'s workspace fits that. Say /help for what I can do.`;
}
