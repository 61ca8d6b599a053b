import { codeOf, reasonOf, sleep, type TierEvent, type TurnContext, tierFailure, turnText } from "@svc/sdk";
import type { Card } from "./generation.ts";
import type { Remote, RpcAnswer } from "./remote.ts";
import { type Piece, readResult, type Told } from "./wire.ts";

/** Times in a row that a stream which broke is asked to go on and brings nothing, and the pause before the first of them. */
const RESUMES = 5;
/** A connection that lasted so long was of use also where nothing came: proxies end each one after a minute or so. */
const OF_USE_MS = 20_000;
const FIRST_PAUSE_MS = 500;
const CANCEL_MS = 5_000;

type Placed = Card & { readonly address: string };

/** One turn on somebody else's server, under an id that stays the same over its retries. */
export async function* runTurn(remote: Remote, id: string, context: TurnContext, signal: AbortSignal): AsyncGenerator<TierEvent> {
  const answer = new Answer();
  let card: Placed | undefined;
  try {
    card = await remote.card(signal);
    for await (const one of talk(remote, card, card.generation.ask(wordsOf(context), id, context.session), answer, signal)) yield* answer.take(one);
    if (!signal.aborted) yield answer.end();
  } catch (error) {
    if (!signal.aborted) yield failureOf(error);
  } finally {
    if (signal.aborted && card !== undefined) await cancel(remote, card, answer);
  }
}

/** The server keeps what was said before; without a session it is told all of it with the first words. */
function wordsOf(context: TurnContext): string {
  const { session, system, history } = context;
  if (session !== undefined) return turnText(context);
  return [system, ...history.map(({ role, text }) => `${role}: ${text}`), turnText(context)].filter((text) => text !== "").join("\n\n");
}

/** Yields the server's messages, across lost connections: a broken stream resumes after its last event. */
async function* talk(remote: Remote, { generation, streaming, address }: Placed, params: object, answer: Answer, signal: AbortSignal): AsyncGenerator<Told> {
  if (!streaming) {
    yield resultOf(await remote.call(address, generation, generation.send, params, signal));
    return;
  }
  let lastId: string | undefined;
  for (let resumes = 0; ; resumes += 1) {
    const first = answer.taskId === undefined;
    const [before, since] = [answer.progress, performance.now()];
    let broken: unknown;
    try {
      const stream = first
        ? remote.stream(address, generation, generation.stream, params, signal)
        : remote.stream(address, generation, generation.resume, { id: answer.taskId }, signal, lastId);
      for await (const event of stream) {
        lastId = event.id ?? lastId;
        yield resultOf(event.answer);
        if (answer.isOver) return;
      }
    } catch (error) {
      // Without a task there is nothing to go on with: what was sent may have arrived, and is not sent twice.
      if (signal.aborted || answer.taskId === undefined || codeOf(error) === "SVC_A2A_REFUSED") throw error;
      broken = error;
    }
    if (answer.progress !== before || performance.now() - since > OF_USE_MS) resumes = 0;
    if (resumes >= RESUMES && broken !== undefined) throw broken;
    if (signal.aborted || answer.taskId === undefined || resumes >= RESUMES) return;
    await sleep(FIRST_PAUSE_MS * 2 ** resumes, signal);
  }
}

function resultOf({ result, error }: RpcAnswer): Told {
  if (error === undefined) return readResult(result);
  throw Object.assign(new Error(`the server refused: ${String(error.message ?? "without a reason").slice(0, 500)} (${error.code ?? "no code"})`), {
    code: "SVC_A2A_REFUSED",
  });
}

/** The answer as it grows. */
class Answer {
  readonly #artifacts = new Map<string, string>();
  /** The artifact that pieces are appended to while the answer goes on. */
  #last: string | undefined;
  #streamed = "";
  /** Everything so far was streamed, and nothing of it was replaced. */
  #goesOn = true;
  #chars = 0;
  #session: string | undefined;
  #state: Told["state"];
  #words: string | undefined;
  taskId: string | undefined;

  /** Differs once the server has told something new. */
  get progress(): string {
    return JSON.stringify([this.#state, this.#words, this.#chars]);
  }

  get isOver(): boolean {
    return this.#state !== undefined && this.#state !== "working";
  }

  *take({ taskId, contextId, state, words, pieces, whole }: Told): Generator<TierEvent> {
    this.taskId = taskId ?? this.taskId;
    if (contextId !== undefined && contextId !== this.#session) {
      this.#session = contextId;
      yield { type: "session", id: contextId };
    }
    if (state !== undefined) [this.#state, this.#words] = [state, words];
    // A task as a whole that has no answer yet takes nothing back.
    const more = whole === true && pieces.length > 0 ? this.#replace(pieces) : pieces.map((piece) => this.#place(piece)).join("");
    // Only what goes on can be streamed; what was replaced is told at the end.
    if (!this.#goesOn || more === "") return;
    this.#streamed += more;
    yield { type: "text", text: more };
  }

  /** The answer anew. Returns what it says beyond the text that was streamed. */
  #replace(pieces: readonly Piece[]): string {
    this.#artifacts.clear();
    for (const piece of pieces) this.#place(piece);
    const text = this.#text();
    this.#goesOn = text.startsWith(this.#streamed);
    return text.slice(this.#streamed.length);
  }

  /** Returns what the piece adds at the end. Nothing of what is there is read again: pieces may be many and the answer long. */
  #place({ artifact, text, append }: Piece): string {
    const before = this.#artifacts.get(artifact);
    this.#artifacts.set(artifact, append ? (before ?? "") + text : text);
    this.#chars += text.length;
    if (before === undefined) {
      this.#last = artifact;
      return this.#artifacts.size > 1 ? `\n\n${text}` : text;
    }
    this.#goesOn &&= artifact === this.#last && (append || text.startsWith(before));
    if (append) return text;
    return this.#goesOn ? text.slice(before.length) : "";
  }

  #text(): string {
    return [...this.#artifacts.values()].join("\n\n");
  }

  end(): TierEvent {
    const text = this.#text();
    switch (this.#state) {
      case "completed":
        return text === "" && this.#words === undefined
          ? tierFailure("no-answer", "the server ended the task without an answer")
          : { type: "done", text: text === "" ? (this.#words as string) : text };
      case "input-required":
        // The server asks back: its question is the answer of this turn, and the next message continues the session.
        return { type: "done", text: [text, this.#words].filter(Boolean).join("\n\n") || "It waits for an answer and does not say to what." };
      case "auth-required":
        return tierFailure("auth", this.#words ?? "the server wants other credentials");
      case "failed":
      case "rejected":
        return tierFailure("engine", this.#words ?? `the server says that the task is ${this.#state}`);
      case "canceled":
        return tierFailure("cancelled", this.#words ?? "the server canceled the task");
      default:
        return tierFailure("cut", "the server's stream ended in the middle of the task");
    }
  }
}

/** A task that is not over there is canceled there, too. */
async function cancel(remote: Remote, { address, generation }: Placed, { taskId, isOver }: Answer): Promise<void> {
  if (taskId !== undefined && !isOver)
    await remote.call(address, generation, generation.cancel, { id: taskId }, AbortSignal.timeout(CANCEL_MS)).catch(() => undefined);
}

function failureOf(error: unknown): TierEvent {
  const { status } = error as { status?: number };
  const reason = reasonOf(error);
  if (status === 401 || status === 403) return tierFailure("auth", reason);
  if (status === 429) return tierFailure("rate-limit", reason);
  if (codeOf(error) === "SVC_A2A_CARD" && status === undefined) return tierFailure("request", reason);
  if (codeOf(error) === "SVC_A2A_REFUSED") return tierFailure("engine", reason);
  // Errors of the guarded fetch about a connection have a status, too: it is meant for callers of routes.
  const answered = codeOf(error) === "SVC_A2A_ANSWER" || codeOf(error) === "SVC_A2A_CARD";
  return tierFailure(answered && status !== undefined && status >= 500 ? "server" : "network", reason);
}
