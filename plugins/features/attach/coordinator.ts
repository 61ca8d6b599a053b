import type { Jobs, Log, Store, TierEvent, Turn, TurnContext } from "@svc/sdk";
import { ending, holdTurn } from "./held-turn.ts";
import type { HookEvent } from "./hook-event.ts";
import { AGAIN } from "./hook-script.ts";
import { bodyOf, handedOver, owed, roomForHook, waiting, wakeUp, wearing } from "./hook-words.ts";
import { type Clocks, Inbox, type Taker } from "./inbox.ts";
import { ANSWER_MS, CLAIM_MS, type FallenBy, type Item, isFinal, MOST_DRAINED } from "./item.ts";
import type { ProcessTable } from "./process-table.ts";
import { type Attached, type Mode, Sessions } from "./sessions.ts";
import { Waiters } from "./waiters.ts";

/** A session without a hook for so long is released (000:L369). */
const SILENT_MS = 15 * 60_000;
/** Between the end of a session and the start of the next one in the same process. */
const NEXT_SESSION_MS = 2_000;
/** Interval of checking the processes. */
const LOOK_MS = 5_000;
/** A hook in the background lives so long; its program ends it soon after. */
const WAIT_MS = 870_000;
/** A session in the middle of a turn takes what waits at its end. One that was broken off has none: it is woken after this. */
const BUSY_MS = 30_000;
/** So often a turn is made to go on: at the ninth its program stops and complains. */
const MOST_CONTINUED = 5;
/** Tries to queue a message while its agent is moved to and fro. */
const TRIES = 5;

/** Dependencies of the coordinator. */
export interface CoordinatorDeps {
  readonly store: Store;
  readonly jobs: Pick<Jobs, "after" | "at" | "every">;
  readonly log: Log;
  readonly table: ProcessTable;
  readonly clocks: Clocks;
}

/** Where messages for attached agents meet the sessions that wear them. */
export class Coordinator {
  readonly sessions: Sessions;
  readonly inbox: Inbox;
  readonly waiters = new Waiters();
  readonly #deps: CoordinatorDeps;
  /** By item: takes its timers away. */
  readonly #timers = new Map<string, () => void>();
  #looking: (() => void) | undefined;

  constructor(deps: CoordinatorDeps) {
    this.#deps = deps;
    this.sessions = new Sessions(deps.store, deps.table, deps.clocks.now);
    this.inbox = new Inbox(deps.store, deps.clocks);
  }

  /** Handles leftovers of an earlier run: messages fall back once (ATT-03), and a binding stays while its process lives. Call it first. */
  async recover(): Promise<void> {
    for (const { id } of await this.inbox.open()) await this.inbox.fall(id, "restart");
    for (const { key, value, version } of await this.sessions.bindings()) {
      const process = await this.sessions.get(value.process);
      if (process === undefined) await this.sessions.unbind(key, version);
    }
    await this.look();
  }

  // ── messages ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Takes a turn over for the session that wears its agent. Undefined: the agent's own engine runs it. */
  async take(turn: Turn, { prompt }: Pick<TurnContext, "prompt">, signal: AbortSignal): Promise<AsyncIterable<TierEvent> | undefined> {
    const [first] = turn.messages;
    const earlier = await this.inbox.ofTask(turn.id);
    if (earlier !== undefined && first.attempts > 0) {
      // Answered, and the daemon ended before the answer had left: it is the answer still.
      if (earlier.state === "answered" || earlier.state === "refused") return streamOf(ending(earlier));
      return undefined;
    }
    // Its preparation was given up for another one.
    if (earlier !== undefined && !isFinal(earlier)) await this.inbox.cancel(earlier.id);
    const { agent } = turn.route;
    for (let tries = 0; tries < TRIES && !signal.aborted; tries += 1) {
      const binding = await this.sessions.bindingOf(agent);
      const process = binding === undefined ? undefined : await this.sessions.get(binding.value.process);
      if (binding === undefined || process === undefined) return undefined;
      if (!this.sessions.isThere(process)) {
        await this.release(process.key, "process-gone", true);
        return undefined;
      }
      const draft = { task: turn.id, agent, from: nameOf(first.sender), channel: first.channel, text: prompt, autonomy: "act" } as const;
      const item = await this.inbox.enqueue(draft, [this.sessions.unchanged(agent, binding)]);
      if (item === undefined) continue;
      this.#watch(item.id, item.due, CLAIM_MS);
      const stream = holdTurn(this.inbox, item, process, signal, () => this.#forget(item.id));
      await this.#announce(process);
      return stream;
    }
    return undefined;
  }

  /** Ends its time by the wall clock or by the running one, whichever is first. */
  #watch(id: string, due: number, ms: number): void {
    const { jobs, log } = this.#deps;
    this.#forget(id);
    const expire = () => void this.inbox.expire(id).catch((error) => log.error({ err: error, item: id }, "a message for a session could not be taken back"));
    const [atTime, afterSpan] = [jobs.at(due, expire), jobs.after(ms, expire)];
    this.#timers.set(id, () => {
      atTime();
      afterSpan();
    });
  }

  #forget(id: string): void {
    this.#timers.get(id)?.();
    this.#timers.delete(id);
  }

  /** Begins a turn of a session that would otherwise not hear of it. */
  async #announce(process: Attached): Promise<void> {
    if (process.mode !== "auto") return;
    if (process.busy) this.#deps.jobs.after(BUSY_MS, () => void this.#wake(process.key));
    else await this.#wake(process.key);
  }

  async #wake(key: string): Promise<void> {
    const process = await this.sessions.get(key);
    if (process?.agent === undefined || process.mode !== "auto" || !this.waiters.has(key)) return;
    const { length } = await this.inbox.queued(process.agent);
    if (length === 0) return;
    await this.sessions.change(key, (found) => found && { ...found, woken: true });
    this.waiters.wake(key, wakeUp(length));
  }

  /** Hands out what waits, oldest first. */
  async drain(process: Attached, max: number = MOST_DRAINED, fits?: (item: Item) => boolean): Promise<readonly Item[]> {
    if (process.agent === undefined) return [];
    const { agent, key, session, pid, turn } = process;
    const taker: Taker = { agent, process: key, session, ...(pid === undefined ? {} : { pid }), ...(turn === undefined ? {} : { turn }) };
    const items = await this.inbox.drain(taker, max, fits);
    for (const { id, answerBy = 0 } of items) this.#watch(id, answerBy, ANSWER_MS);
    return items;
  }

  // ── hooks ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The answer to a hook; empty where the program shall carry on as it is. */
  async hook(event: HookEvent): Promise<string> {
    if (event.hook === "session-end") {
      await this.#sessionEnd(event);
      return "";
    }
    const noted = await this.sessions.note(event);
    this.#lookOften();
    if (event.hook === "session-start") return this.#sessionStart(noted, event);
    return event.hook === "prompt" ? this.#prompt(noted, event) : this.#stop(noted, event);
  }

  async #sessionStart({ key }: Attached, event: HookEvent): Promise<string> {
    const process = await this.sessions.change(key, (found) => {
      if (found === undefined) return undefined;
      const { endingAt: _ended, ...rest } = found;
      return { ...rest, busy: event.source === "compact" && (found.busy ?? false) };
    });
    if (process?.agent === undefined) return "";
    return bodyOf("session-start", wearing(process.agent, process.mode ?? "manual"), process);
  }

  async #prompt({ key }: Attached, event: HookEvent): Promise<string> {
    let woken = false;
    const process = await this.sessions.change(key, (found) => {
      if (found === undefined) return undefined;
      const { woken: told, turn: _turn, ...rest } = found;
      woken = told === true && event.woken;
      return { ...rest, busy: true, continued: 0, ...(event.turn === undefined ? {} : { turn: event.turn }) };
    });
    if (process?.agent === undefined || process.mode === undefined || process.mode === "manual") return "";
    if (woken && process.mode === "auto") {
      const items = await this.drain(process, MOST_DRAINED, roomForHook());
      if (items.length > 0) return bodyOf("prompt", { context: handedOver(process.agent, items) }, process);
    }
    const items = await this.inbox.queued(process.agent);
    return items.length === 0 ? "" : bodyOf("prompt", waiting(process.agent, items, this.#deps.clocks.now()), process);
  }

  async #stop(noted: Attached, event: HookEvent): Promise<string> {
    const idle = async () => {
      await this.sessions.change(noted.key, (found) => found && { ...found, busy: false });
      // More than one turn may take: the next one begins by the hook in the background.
      await this.#wake(noted.key);
    };
    const { agent, mode, key, continued = 0 } = noted;
    // Where a program names its turns we count; where it does not, its own word must do.
    if (agent === undefined || mode !== "auto" || (event.turn === undefined ? event.continued : continued >= MOST_CONTINUED)) {
      await idle();
      return "";
    }
    const unanswered: Item[] = [];
    for (const item of await this.inbox.drained(key)) if (item.turn === event.turn && (await this.inbox.remind(item.id))) unanswered.push(item);
    const items = await this.drain({ ...noted, ...(event.turn === undefined ? {} : { turn: event.turn }) }, MOST_DRAINED, roomForHook());
    if (unanswered.length === 0 && items.length === 0) {
      await idle();
      return "";
    }
    await this.sessions.change(key, (found) => found && { ...found, busy: true, continued: continued + 1 });
    const words = [...(unanswered.length === 0 ? [] : [owed(unanswered)]), ...(items.length === 0 ? [] : [handedOver(agent, items)])];
    return bodyOf("stop", { context: words.join("\n\n"), goOn: true }, noted);
  }

  async #sessionEnd(event: HookEvent): Promise<void> {
    const process = (event.pid === undefined ? undefined : await this.sessions.ofProcess(event.pid)) ?? (await this.#only(event.session));
    // The end of an earlier session may arrive after the start of the next one.
    if (process === undefined || process.session !== event.session) return;
    if (event.reason !== "clear" && event.reason !== "resume") return this.release(process.key, "session-end", true);
    await this.sessions.change(process.key, (found) => found && { ...found, endingAt: this.#deps.clocks.now() + NEXT_SESSION_MS });
    this.#deps.jobs.after(NEXT_SESSION_MS, () => void this.look());
  }

  async #only(session: string): Promise<Attached | undefined> {
    const found = await this.sessions.ofSession(session);
    return found.length === 1 ? found[0] : undefined;
  }

  /** A hook in the background: resolves with words that begin a turn, or with none. */
  async wait(event: HookEvent, signal: AbortSignal): Promise<string> {
    const { key } = await this.sessions.note(event);
    this.#lookOften();
    const waited = this.waiters.wait(key, WAIT_MS, signal);
    // Messages that arrived between the end of the turn and this point.
    const process = await this.sessions.get(key);
    if (process?.agent !== undefined && !process.busy) await this.#wake(key);
    return waited;
  }

  // ── binding ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Lets the process wear the agent. What was queued for the agent moves along; what its former process was handed stays there (ATT-05). */
  async bind(key: string, agent: string, mode: Mode): Promise<Attached | undefined> {
    const { from, left } = await this.sessions.bind(key, agent, mode);
    if (left !== undefined) for (const { id } of await this.inbox.queued(left)) await this.inbox.fall(id, "detached");
    this.#lookOften();
    return from === undefined ? undefined : this.sessions.get(from);
  }

  /** Takes the agent from the process, and gives all back that it had or waited for. */
  async release(key: string, by: FallenBy, gone: boolean): Promise<void> {
    const agent = await this.sessions.release(key, gone);
    // One that lives on may wear an agent again.
    if (gone) this.waiters.end(key);
    const queued = agent === undefined ? [] : await this.inbox.queued(agent);
    for (const { id } of [...queued, ...(await this.inbox.drained(key))]) await this.inbox.fall(id, by);
    if (agent !== undefined) this.#deps.log.info({ agent, process: key, by }, "a session does not wear the agent any more");
  }

  /** Looks after the processes: those that are gone, that have ended, or that say nothing any more. */
  async look(): Promise<void> {
    const now = this.#deps.clocks.now();
    const all = await this.sessions.list();
    for (const process of all) {
      if (!this.sessions.isThere(process)) await this.release(process.key, "process-gone", true);
      else if (process.endingAt !== undefined && process.endingAt <= now) await this.release(process.key, "session-end", true);
      else if (now - process.lastEvent >= SILENT_MS && (process.agent !== undefined || process.pid === undefined))
        await this.release(process.key, "silent", process.pid === undefined);
    }
    for (const { id } of await this.inbox.open()) await this.inbox.expire(id);
    if (all.length > 0) return this.#lookOften();
    this.#looking?.();
    this.#looking = undefined;
    await this.inbox.sweep();
  }

  #lookOften(): void {
    const { jobs, log } = this.#deps;
    this.#looking ??= jobs.every(LOOK_MS, () => this.look().catch((error) => log.error({ err: error }, "the attached sessions could not be looked after")));
  }

  /** The plugin ends: each turn goes back to its agent's engine. */
  async close(): Promise<void> {
    this.#looking?.();
    this.waiters.endAll(AGAIN);
    for (const { id } of await this.inbox.open()) await this.inbox.fall(id, "restart");
  }
}

const nameOf = (sender: { readonly id: string; readonly name?: string; readonly handle?: string } | undefined): string =>
  (sender?.name ?? sender?.handle ?? sender?.id ?? "somebody").replace(/\s+/g, " ").slice(0, 100);

async function* streamOf(events: Iterable<TierEvent>): AsyncGenerator<TierEvent> {
  yield* events;
}
