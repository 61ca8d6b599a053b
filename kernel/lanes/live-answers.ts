import type { Log, StoreWork, TaskEvent, TaskResult } from "@svc/sdk";
import { type Task, tell } from "../core/flow/live-task.ts";
import type { Claim } from "../core/flow/work.ts";

/** Dependencies of sharing growing answers between daemons. */
export interface LiveAnswersDeps {
  readonly rows: Pick<StoreWork, "live">;
  readonly log: Pick<Log, "debug">;
  /** Whether another daemon lives. */
  shared(): boolean;
  /** Returns the task of that id if it was accepted here. */
  task(id: string): Task | undefined;
  /** Wakes the others. */
  tell(): void;
}

/** Interval at which a watched answer is exchanged, in milliseconds. */
const EVERY_MS = 500;

/** The answer of a turn that runs here. */
interface Running {
  readonly lead: Task;
  said: string;
  /** Stored length, for each watched task. */
  readonly stored: Map<string, number>;
}

/** An answer that grows elsewhere. */
interface Watched {
  readonly hear: (event: TaskEvent) => void;
  shown: string;
  /** The answer was restarted with other text: it is not shown any further. */
  broken?: true;
}

/**
 * Shares growing answers between daemons: a daemon with listeners to a task of another one requests its text, and only then the other one stores it,
 * twice a second, until the turn ends or the requests stop. Losses are tolerated: the result has the whole answer.
 */
export class LiveAnswers {
  readonly #deps: LiveAnswersDeps;
  readonly #running = new Map<string, Running>();
  /** Watched tasks that were accepted here. */
  readonly #own = new Map<string, Watched>();
  /** Watched tasks that were accepted elsewhere. */
  readonly #others = new Map<string, Set<Watched>>();
  /** Answers for which the others were woken. */
  #told: ReadonlySet<string> = new Set();
  #wroteAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #closed = false;

  constructor(deps: LiveAnswersDeps) {
    this.#deps = deps;
  }

  /** A turn begins, or continues: buffer its text while it runs, for listeners that join in the middle. */
  begin({ batch }: Claim<Task>): void {
    const [lead] = batch;
    if (!this.#deps.shared() || this.#running.get(lead.record.id)?.lead === lead) return;
    const running: Running = { lead, said: "", stored: new Map() };
    lead.listeners.add((event) => {
      if (event.type === "text") running.said += event.text;
    });
    for (const { record } of batch) this.#running.set(record.id, running);
  }

  /** These tasks were accepted here, run elsewhere, and have listeners. */
  watch(tasks: readonly Task[]): void {
    for (const task of tasks) {
      const { id } = task.record;
      if (!this.#own.has(id)) this.#own.set(id, { shown: "", hear: (event) => tell(task, event) });
    }
  }

  /** Passes the events of a task that was accepted elsewhere and runs elsewhere to `listener`. Returns the function that stops this. */
  listen(id: string, listener: (event: TaskEvent) => void): () => void {
    const watched: Watched = { shown: "", hear: (event) => ignoring(() => listener(event)) };
    const all = this.#others.get(id) ?? new Set();
    this.#others.set(id, all.add(watched));
    return () => {
      all.delete(watched);
      if (all.size === 0) this.#others.delete(id);
    };
  }

  /** A task accepted here has ended elsewhere: its listeners get the rest of the text. */
  ended({ record: { id }, listeners }: Task, { ok, reply }: TaskResult): void {
    const { shown = "", hear } = this.#own.get(id) ?? {};
    this.#own.delete(id);
    const rest = ok && reply.startsWith(shown) ? reply.slice(shown.length) : "";
    if (rest === "" || listeners.size === 0) return;
    const event: TaskEvent = { type: "text", text: rest };
    if (hear !== undefined) hear(event);
    else for (const listener of [...listeners]) ignoring(() => listener(event));
  }

  /** Exchanges reports with the other daemons; one call at a time. Never rejects. */
  look(): Promise<void> {
    this.#looking ??= this.#look()
      .catch((error) => this.#deps.log.debug({ err: error }, "growing answers were not exchanged with other nodes"))
      .finally(() => {
        this.#looking = undefined;
      });
    return this.#looking;
  }

  /** Stops polling. */
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
      // Another daemon's text, or the server has lost them: the whole text is sent again.
      if (stored !== undefined && stored.get(id) !== size) stored.set(id, 0);
    }
    for (const [id, text] of texts) for (const one of this.#watching(id)) show(one, text);
    // Tells the daemon that runs the task that it has a watcher.
    if ([...watched.keys()].some((id) => !this.#told.has(id))) this.#deps.tell();
    this.#told = new Set(watched.keys());
    clearTimeout(this.#timer);
    if (this.#closed || (asked.size === 0 && watched.size === 0)) return;
    const unsaid = [...this.#running.values()].some(({ said, stored }) => [...stored.values()].some((size) => size < said.length));
    this.#timer = setTimeout(() => void this.look(), unsaid ? Math.max(0, this.#wroteAt + EVERY_MS - performance.now()) : EVERY_MS);
    this.#timer.unref();
  }

  /** Returns the watched text that is not stored yet; it counts as stored from here on, and the answer corrects that if needed. */
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

  /** Returns the known length of each watched answer. */
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

/** Whether a task that runs elsewhere has listeners. */
export const isWatched = (task: Task | undefined): task is Task => task !== undefined && task.state === "waiting" && task.listeners.size > 0;

function show(watched: Watched, text: string): void {
  if (!text.startsWith(watched.shown)) watched.broken = true;
  else if (text.length > watched.shown.length) {
    const grown = text.slice(watched.shown.length);
    watched.shown = text;
    watched.hear({ type: "text", text: grown });
  }
}

/** Ignores errors: a listener that throws must not affect the others. */
function ignoring(run: () => void): void {
  try {
    run();
  } catch {
    // The listener's own problem.
  }
}
