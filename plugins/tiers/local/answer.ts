import type { PluginContext, TierEvent, Turn } from "@svc/sdk";
import { command } from "./commands.ts";
import { piecesOf } from "./pieces.ts";
import type { Found, Library, Workspace } from "./workspace.ts";

/** Pieces of about this many characters, so that a reader sees the answer grow. */
const PIECE = 160;
const SHOWN = 5;
/** A passage is quoted up to this many characters; the reader knows where the rest is. */
const QUOTED = 600;

/** Answers one turn: a chat command, or the passages of the workspace that fit the words best. */
export async function* answer(ctx: PluginContext, library: Library, turn: Turn, prompt: string, signal: AbortSignal): AsyncIterable<TierEvent> {
  const text = prompt.trim();
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
  yield* said(found.length === 0 ? nothing(turn, workspace.files) : passages(turn, found), signal);
}

/** Others may wait for the same reading: it goes on, and only this turn stops waiting. */
function unlessAborted(reading: Promise<Workspace>, signal: AbortSignal): Promise<Workspace | undefined> {
  return new Promise((resolve, reject) => {
    const stop = () => resolve(undefined);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    reading.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
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

const honest = ({ agent }: Turn) =>
  `I am the built-in tier "local": I search this agent's workspace and am not a language model. For real answers choose an engine: svc config set agents.${agent.id}.tier cli-a`;

function passages(turn: Turn, found: readonly Found[]): string {
  const quoted = found.map(({ file, line, text }) => `${quoteOf(text)}\n— ${file}:${line}`);
  return `From the workspace of ${turn.agent.name}:\n\n${quoted.join("\n\n")}\n\n${honest(turn)}`;
}

function quoteOf(text: string): string {
  const [start = ""] = piecesOf(text, Math.ceil(text.length / QUOTED));
  return (start === text ? text : `${start.trimEnd()} …`).replaceAll(/^/gm, "> ");
}

function nothing(turn: Turn, files: number): string {
  const searched =
    files === 0
      ? `The workspace ${turn.agent.workspace} holds no text files yet`
      : `None of the ${files} text files in ${turn.agent.workspace} has these words`;
  return `Hello from ${turn.agent.name}. ${searched}.\n\n${honest(turn)}\nSay /help for what I can do.`;
}
