import { type Collection, codeOf, type Doc, type Op, put, remove, type Store } from "@svc/sdk";
import type { HookEvent } from "./hook-event.ts";
import type { ProcessTable } from "./process-table.ts";

/** Delivery of messages to a session: on request by its tool, with a notice as well, or automatically at the end of a turn. */
export type Mode = "manual" | "notify" | "auto";

/** The program of a session that has called a hook: a process, whatever session it shows now. Times in Unix milliseconds. */
export interface Attached {
  /** Its process id and start, or its session where the program does not tell its process. */
  readonly key: string;
  readonly pid?: number;
  /** The session that it shows now: another one after `clear`, `fork` or `resume`. */
  readonly session: string;
  readonly program: string;
  readonly version?: string;
  readonly cwd: string;
  readonly permissionMode?: string;
  readonly lastEvent: number;
  readonly agent?: string;
  readonly mode?: Mode;
  /** The turn that it is in, or was in last. */
  readonly turn?: string;
  readonly busy?: boolean;
  /** Number of times that a hook has continued that turn. */
  readonly continued?: number;
  /** When its session has ended for good, unless another one begins in the same process. */
  readonly endingAt?: number;
  /** A hook in the background was told to begin a turn. */
  readonly woken?: boolean;
}

/** Binding of a process to an agent. */
export interface Binding {
  readonly process: string;
  readonly mode: Mode;
  readonly since: number;
}

const PROCESSES = "processes";
const BINDINGS = "bindings";
const PAGE = 1_000;

/** The programs that have called hooks, and which of them wears which agent: at most one each way. */
export class Sessions {
  readonly #store: Store;
  readonly #processes: Collection<Attached>;
  readonly #bindings: Collection<Binding>;
  readonly #table: ProcessTable;
  readonly #now: () => number;

  constructor(store: Store, table: ProcessTable, now: () => number) {
    this.#store = store;
    this.#processes = store.collection<Attached>(PROCESSES, { indexes: ["session", "pid", "agent"] });
    this.#bindings = store.collection<Binding>(BINDINGS);
    this.#table = table;
    this.#now = now;
  }

  /** Notes a hook: registers its process, or follows it to its present session. */
  async note(event: HookEvent): Promise<Attached> {
    const key = this.#keyOf(event.pid, event.session);
    const { session, program, version, cwd, permissionMode } = event;
    const seen = {
      session,
      program,
      cwd,
      lastEvent: this.#now(),
      ...(version === undefined ? {} : { version }),
      ...(permissionMode === undefined ? {} : { permissionMode }),
    };
    const begins = { key, ...(event.pid === undefined || key === `session:${session}` ? {} : { pid: event.pid }) };
    return (await this.change(key, (found) => ({ ...begins, ...found, ...seen }))) as Attached;
  }

  async get(key: string): Promise<Attached | undefined> {
    return (await this.#processes.get(key))?.value;
  }

  async list(): Promise<readonly Attached[]> {
    return (await this.#processes.list({ limit: PAGE })).map(({ value }) => value);
  }

  /** The registered process that is `pid` or that it descends from. */
  async ofProcess(pid: number): Promise<Attached | undefined> {
    for (const one of this.#table.lineage(pid)) {
      const found = (await this.#processes.list({ where: { pid: one }, limit: PAGE })).find(({ value }) => value.key === this.#keyOf(one, value.session));
      if (found !== undefined) return found.value;
    }
    return undefined;
  }

  /** All processes that show the session: two where it was resumed while it was open. */
  async ofSession(session: string): Promise<readonly Attached[]> {
    const found = await this.#processes.list({ where: { session }, limit: PAGE });
    return found.map(({ value }) => value).filter((one) => this.isThere(one));
  }

  isThere({ pid, key }: Pick<Attached, "pid" | "key">): boolean {
    return pid === undefined || key === this.#keyOf(pid, "");
  }

  /** Changes the row, whatever it was; undefined from `next` leaves it as it is. */
  async change(key: string, next: (found: Attached | undefined) => Attached | undefined): Promise<Attached | undefined> {
    for (;;) {
      const doc = await this.#processes.get(key);
      const wanted = next(doc?.value);
      if (wanted === undefined) return doc?.value;
      if (await this.#commit([put(PROCESSES, key, wanted, doc?.version ?? "absent")])) return wanted;
    }
  }

  async anyBound(): Promise<boolean> {
    return (await this.#bindings.count()) > 0;
  }

  bindingOf(agent: string): Promise<Doc<Binding> | undefined> {
    return this.#bindings.get(agent);
  }

  async bindings(): Promise<readonly Doc<Binding>[]> {
    return this.#bindings.list({ limit: PAGE });
  }

  /** For the commit that queues a message: it fails where the binding is not as it was read. */
  unchanged(agent: string, { value, version }: Doc<Binding>): Op {
    return put(BINDINGS, agent, value, version);
  }

  /**
   * Gives the agent to the process. Answers with the process that wore it until now. `left` is what this process wore before: its messages
   * are to be given up.
   */
  async bind(key: string, agent: string, mode: Mode): Promise<{ readonly from?: string; readonly left?: string }> {
    for (;;) {
      const [process, binding] = await Promise.all([this.#processes.get(key), this.#bindings.get(agent)]);
      if (process === undefined) return {};
      const from = binding?.value.process === key ? undefined : binding?.value.process;
      const left = process.value.agent === agent ? undefined : process.value.agent;
      const [former, given] = await Promise.all([
        from === undefined ? undefined : this.#processes.get(from),
        left === undefined ? undefined : this.#bindings.get(left),
      ]);
      const ops = [
        put(BINDINGS, agent, { process: key, mode, since: this.#now() } satisfies Binding, binding?.version ?? "absent"),
        put(PROCESSES, key, { ...process.value, agent, mode } satisfies Attached, process.version),
        ...(former === undefined ? [] : [put(PROCESSES, former.key, bare(former.value), former.version)]),
        ...(given?.value.process === key ? [remove(BINDINGS, given.key, given.version)] : []),
      ];
      if (await this.#commit(ops)) return { ...(from === undefined ? {} : { from }), ...(left === undefined ? {} : { left }) };
    }
  }

  /** Takes the agent from the process; `gone` forgets the process as well. Answers with the agent that it wore. */
  async release(key: string, gone: boolean): Promise<string | undefined> {
    for (;;) {
      const process = await this.#processes.get(key);
      if (process === undefined) return undefined;
      const { agent } = process.value;
      const binding = agent === undefined ? undefined : await this.#bindings.get(agent);
      const ops = [
        gone ? remove(PROCESSES, key, process.version) : put(PROCESSES, key, bare(process.value), process.version),
        ...(binding?.value.process === key ? [remove(BINDINGS, binding.key, binding.version)] : []),
      ];
      if (await this.#commit(ops)) return agent;
    }
  }

  /** Takes away a binding whose process is not known. */
  async unbind(agent: string, version: number): Promise<void> {
    await this.#commit([remove(BINDINGS, agent, version)]);
  }

  /** A process that is not there any more, or that another one's place has taken, has no key. */
  #keyOf(pid: number | undefined, session: string): string {
    const start = pid === undefined ? undefined : this.#table.startOf(pid);
    return start === undefined ? `session:${session}` : `${pid}:${start}`;
  }

  /** False where a row was not as it was read: somebody else was first. */
  async #commit(ops: readonly Op[]): Promise<boolean> {
    try {
      await this.#store.commit(ops);
      return true;
    } catch (error) {
      if (codeOf(error) === "SVC_STORE_CONFLICT") return false;
      throw error;
    }
  }
}

const bare = ({ agent: _agent, mode: _mode, ...process }: Attached): Attached => process;
