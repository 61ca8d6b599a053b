import { randomUUID } from "node:crypto";

/** Where a task stands. The last three are final. */
export type TaskState = "submitted" | "working" | "completed" | "failed" | "canceled";

/** Something that happened to a task, numbered from 1 without a gap: the id of its event on a stream. */
export type Frame = { readonly seq: number; readonly at: string } & (
  | { readonly kind: "status"; readonly state: TaskState; readonly words?: string }
  /** A piece of the answer; `last` with the empty piece that ends it. */
  | { readonly kind: "text"; readonly text: string; readonly first: boolean; readonly last: boolean }
);

/** A frame before it is numbered. */
export type NewFrame = Frame extends infer F ? (F extends Frame ? Omit<F, "seq" | "at"> : never) : never;

/** One side's words in the history of a task. */
export interface Spoken {
  readonly role: "user" | "agent";
  readonly messageId: string;
  readonly text: string;
}

const FINAL: readonly TaskState[] = ["completed", "failed", "canceled"];
/** Frames that are kept for callers who come back; before them the task as it is stands for all. */
const MOST_FRAMES = 5_000;

/** One task of a caller, in memory: what happened to it, and who listens. */
export class Task {
  readonly id: string;
  readonly contextId: string;
  readonly artifactId = randomUUID();
  readonly history: Spoken[] = [];
  readonly #abort = new AbortController();
  readonly #listeners = new Set<(frame: Frame) => void>();
  #frames: Frame[] = [];
  #seq = 0;
  #text = "";
  #state: TaskState = "submitted";
  #words: string | undefined;
  #at = new Date().toISOString();

  constructor({ id = randomUUID(), contextId = randomUUID() }: { readonly id?: string; readonly contextId?: string }) {
    this.id = id;
    this.contextId = contextId;
  }

  get state(): TaskState {
    return this.#state;
  }
  /** Current activity of the agent, or why it failed. */
  get words(): string | undefined {
    return this.#words;
  }
  /** Since when it is in this state. */
  get at(): string {
    return this.#at;
  }
  /** The answer as far as it is there. */
  get text(): string {
    return this.#text;
  }
  /** About what it holds in memory, in characters. */
  get size(): number {
    // Its answer stands in the frames once more, and in the history when it is over.
    return 2 * this.#text.length + this.history.reduce((sum, { text }) => sum + text.length, 0);
  }
  get seq(): number {
    return this.#seq;
  }
  get isFinal(): boolean {
    return FINAL.includes(this.#state);
  }
  /** Aborts when a caller cancels it. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Numbers a frame and tells it to everybody who listens. After the final one nothing is told any more. */
  tell(frame: NewFrame): void {
    if (this.isFinal) return;
    this.#seq += 1;
    const told = { ...frame, seq: this.#seq, at: new Date().toISOString() } as Frame;
    if (told.kind === "status") [this.#state, this.#words, this.#at] = [told.state, told.words, told.at];
    else this.#text += told.text;
    this.#frames.push(told);
    if (this.#frames.length > MOST_FRAMES * 2) this.#frames = this.#frames.slice(-MOST_FRAMES);
    for (const listener of [...this.#listeners]) listener(told);
  }

  /** The answer is another text than what was told so far, as after a retry: it stands in place of it. */
  replaceText(text: string): void {
    this.#text = "";
    this.tell({ kind: "text", text, first: true, last: false });
  }

  /** Frames after `seq`; undefined where some of them are no longer kept. */
  after(seq: number): readonly Frame[] | undefined {
    const oldest = this.#frames[0]?.seq ?? this.#seq + 1;
    return seq + 1 < oldest ? undefined : this.#frames.filter((frame) => frame.seq > seq);
  }

  /** Hears each frame from now on. */
  listen(listener: (frame: Frame) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Resolves with the final state, or when `signal` aborts. */
  async ended(signal: AbortSignal): Promise<void> {
    if (this.isFinal || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const over = () => {
        stop();
        signal.removeEventListener("abort", over);
        resolve();
      };
      const stop = this.listen(() => this.isFinal && over());
      signal.addEventListener("abort", over, { once: true });
    });
  }

  cancel(): void {
    this.#abort.abort();
  }
}
