import type { Log, StoreWork, TaskEvent, TaskResult } from "@svc/sdk";
import { type Task, tell } from "../core/flow/live-task.ts";
import type { Claim } from "../core/flow/work.ts";

/** What growing answers of several daemons stand on. */
export interface LiveAnswersDeps {
  readonly rows: Pick<StoreWork, "live">;
  readonly log: Pick<Log, "debug">;
  /** Whether another daemon lives. */
  shared(): boolean;
  /** The task of that id that came in here. */
  task(id: string): Task | undefined;
  /** Wakes the others. */
  tell(): void;
}

/** How often an answer that somebody watches is handed over and looked at, in milliseconds. */
const EVERY_MS = 500;

/** The answer of a turn that runs here. */
interface Running {
  readonly lead: Task;
  said: string;
  /** How much of it is stored, for each task that is watched. */
  readonly stored: Map<string, number>;
}

/** An answer that grows elsewhere. */
interface Watched {
  readonly hear: (event: TaskEvent) => void;
  shown: string;
  /** It began anew with other words: nothing more of it is shown. */
  broken?: true;
}

/**
 * Growing answers over daemons: who has listeners to a task that another one runs asks for its text, and only then the other one stores it,
 * twice a second, until the turn ends or nobody asks any more. What is lost on the way is lost: the result has the whole answer.
 */
export class LiveAnswers {
  readonly #deps: LiveAnswersDeps;
  readonly #running = new Map<string, Running>();
  /** Those whose task came in here. */
  readonly #own = new Map<string, Watched>();
  /** Those who asked here for a task that came in elsewhere. */
  readonly #others = new Map<string, Set<Watched>>();
  /** Of which the others were woken. */
  #told: ReadonlySet<string> = new Set();
  #wroteAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #closed = false;

  constructor(deps: LiveAnswersDeps) {
    this.#deps = deps;
  }

  /** A turn begins, or goes on: what it says is kept while it runs, for who asks in the middle of it. */
  begin({ batch }: Claim<Task>): void {
    const [lead] = batch;
    if (!this.#deps.shared() || this.#running.get(lead.record.id)?.lead === lead) return;
    const running: Running = { lead, said: "", stored: new Map() };
    lead.listeners.add((event) => {
      if (event.type === "text") running.said += event.text;
    });
    for (const { record } of batch) this.#running.set(record.id, running);
  }

  /** These tasks came in here, run elsewhere, and have listeners. */
  watch(tasks: readonly Task[]): void {
    for (const task of tasks) {
      const { id } = task.record;
      if (!this.#own.has(id)) this.#own.set(id, { shown: "", hear: (event) => tell(task, event) });
    }
  }

  /** Hears the answer of a task, should it run elsewhere and have come in elsewhere. Returns the way to stop. */
  listen(id: string, listener: (event: TaskEvent) => void): () => void {
    const watched: Watched = { shown: "", hear: (event) => ignoring(() => listener(event)) };
    const all = this.#others.get(id) ?? new Set();
    this.#others.set(id, all.add(watched));
    return () => {
      all.delete(watched);
      if (all.size === 0) this.#others.delete(id);
    };
  }

  /** A task that came in here has ended elsewhere: its listeners get what they were not shown. */
  ended({ record: { id }, listeners }: Task, { ok, reply }: TaskResult): void {
    const { shown = "", hear } = this.#own.get(id) ?? {};
    this.#own.delete(id);
    const rest = ok && reply.startsWith(shown) ? reply.slice(shown.length) : "";
    if (rest === "" || listeners.size === 0) return;
    const event: TaskEvent = { type: "text", text: rest };
    if (hear !== undefined) hear(event);
    else for (const listener of [...listeners]) ignoring(() => listener(event));
  }

  /** Hands over and takes what there is; one call at a time. Never rejects. */
  look(): Promise<void> {
    this.#looking ??= this.#look()
      .catch((error) => this.#deps.log.debug({ err: error }, "growing answers were not exchanged with other nodes"))
      .finally(() => {
        this.#looking = undefined;
      });
    return this.#looking;
  }

  /** Asks for nothing any more. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#looking;
  }

  async #look(): Promise<void> {
    const over = this.#forgetEnded();
    const watched = this.#watchedIds();
    if (this.#closed || !this.#deps.shared() || (this.#running.size === 0 && watched.size === 0 && over.length === 0)) return;
    const { asked, texts } = await this.#deps.rows.live({ running: [...this.#running.keys()], said: this.#unstored(), over, watched });
    for (const running of this.#running.values()) for (const id of running.stored.keys()) if (!asked.has(id)) running.stored.delete(id);
    for (const [id, size] of asked) {
      const stored = this.#running.get(id)?.stored;
      // Another daemon's words, or the server has forgotten them: all of it once more.
      if (stored !== undefined && stored.get(id) !== size) stored.set(id, 0);
    }
    for (const [id, text] of texts) for (const one of this.#watching(id)) show(one, text);
    // The daemon that runs it is to hear that it is watched.
    if ([...watched.keys()].some((id) => !this.#told.has(id))) this.#deps.tell();
    this.#told = new Set(watched.keys());
    clearTimeout(this.#timer);
    if (this.#closed || (asked.size === 0 && watched.size === 0)) return;
    const unsaid = [...this.#running.values()].some(({ said, stored }) => [...stored.values()].some((size) => size < said.length));
    this.#timer = setTimeout(() => void this.look(), unsaid ? Math.max(0, this.#wroteAt + EVERY_MS - performance.now()) : EVERY_MS);
    this.#timer.unref();
  }

  /** What is watched and not stored yet; it counts as stored from here on, which the answer corrects where it is not. */
  #unstored(): { readonly id: string; readonly at: number; readonly text: string }[] {
    const found: { id: string; at: number; text: string }[] = [];
    if (performance.now() - this.#wroteAt < EVERY_MS) return found;
    for (const [id, { said, stored }] of this.#running) {
      const at = stored.get(id);
      // A character of two units is not cut.
      const end = said.length - (/[\uD800-\uDBFF]$/.test(said) ? 1 : 0);
      if (at === undefined || end <= at) continue;
      found.push({ id, at, text: said.slice(at, end) });
      stored.set(id, end);
    }
    if (found.length > 0) this.#wroteAt = performance.now();
    return found;
  }

  /** The ids of turns that have ended since, of which something is stored. */
  #forgetEnded(): string[] {
    const over: string[] = [];
    for (const [id, { lead, stored }] of this.#running) {
      if (lead.state !== "settled") continue;
      this.#running.delete(id);
      if (stored.has(id)) over.push(id);
    }
    for (const id of this.#own.keys()) if (!isWatched(this.#deps.task(id))) this.#own.delete(id);
    return over;
  }

  #watching(id: string): Iterable<Watched> {
    const own = this.#own.get(id);
    return own === undefined ? (this.#others.get(id) ?? []) : [own];
  }

  /** How much is known of each answer that is watched. */
  #watchedIds(): Map<string, number> {
    const found = new Map<string, number>();
    for (const [id, { shown, broken }] of this.#own) if (broken === undefined) found.set(id, shown.length);
    for (const [id, all] of this.#others) {
      const open = [...all].filter(({ broken }) => broken === undefined);
      if (open.length > 0 && this.#deps.task(id) === undefined) found.set(id, Math.min(...open.map(({ shown }) => shown.length)));
    }
    return found;
  }
}

/** Whether somebody hears a task that does not run here. */
export const isWatched = (task: Task | undefined): task is Task => task !== undefined && task.state === "waiting" && task.listeners.size > 0;

function show(watched: Watched, text: string): void {
  if (!text.startsWith(watched.shown)) watched.broken = true;
  else if (text.length > watched.shown.length) {
    const grown = text.slice(watched.shown.length);
    watched.shown = text;
    watched.hear({ type: "text", text: grown });
  }
}

/** A listener that throws disturbs nobody. */
function ignoring(run: () => void): void {
  try {
    run();
  } catch {
    // It is its own affair.
  }
}
