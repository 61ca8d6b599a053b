import { type Agents, type Collection, codeOf, type Log, type PluginContext, type Publication, reasonOf } from "@svc/sdk";
import { type Item, keyOf, mentionsIn, readItems, textOf } from "./item.ts";
import type { ReminderSettings } from "./settings.ts";

/** One due time of one item. `due`: it is being handed over. `done`: an agent has it. `skipped`: it was too late, and was reported. */
export interface ItemRow {
  readonly state: "due" | "done" | "skipped";
  readonly item: string;
  readonly due: number;
  readonly at: number;
  readonly taskId?: string;
}

/** Dependencies of polling. */
export interface PollDeps {
  readonly ctx: Pick<PluginContext, "agents" | "events" | "log" | "services" | "signal" | "spawn" | "store" | "tasks">;
  readonly settings: ReminderSettings;
  /** The folder in which the program runs. */
  readonly cwd: string;
  defaultAgent(): Promise<string | undefined>;
  now?: () => number;
}

const HOUR_MS = 3_600_000;
const PROGRAM_MS = 30_000;
const OUTPUT_BYTES = 8 * 1024 * 1024;
/** Handed over at one look; the others come with the next ones. */
const MOST_AT_ONCE = 20;
/** An item that is still open in the app after that is reported once more. */
const KEPT_MS = 400 * 24 * HOUR_MS;

/** Looks at the lists, again and again; each due time of an item reaches an agent once, over looks and restarts. */
export class Polls {
  readonly #deps: PollDeps;
  readonly #rows: Collection<ItemRow>;
  readonly #now: () => number;
  #looking: Promise<void> | undefined;
  /** Last problem of each list, so that it is logged once. */
  readonly #trouble = new Map<string, string>();

  constructor(deps: PollDeps) {
    this.#deps = deps;
    this.#now = deps.now ?? Date.now;
    this.#rows = deps.ctx.store.collection<ItemRow>("items", { indexes: ["at"] });
  }

  /** Looks once; a look that is under way is not joined by a second one. Never rejects. */
  look(): Promise<void> {
    this.#looking ??= this.#look()
      .catch((error) => this.#deps.ctx.log.error({ err: error }, "the reminders could not be looked at; tried again at the next look"))
      .finally(() => {
        this.#looking = undefined;
      });
    return this.#looking;
  }

  /** Forgets items of long ago. */
  async sweep(): Promise<void> {
    for (;;) {
      const old = await this.#rows.list({ by: "at", to: this.#now() - KEPT_MS, limit: 500 });
      for (const { key } of old) await this.#rows.delete(key);
      if (old.length < 500) return;
    }
  }

  async #look(): Promise<void> {
    const { settings } = this.#deps;
    let left = MOST_AT_ONCE;
    for (const list of settings.lists) {
      const now = this.#now();
      const due = (await this.#read(list)).filter((item) => item.due <= now).sort((one, other) => one.due - other.due);
      for (const item of due) {
        if (left === 0 || this.#deps.ctx.signal.aborted) return;
        const known = await this.#rows.get(keyOf(item));
        if (known !== undefined && known.value.state !== "due") continue;
        if (known === undefined && now - item.due > settings.lookbackHours * HOUR_MS) await this.#skip(item);
        else if (await this.#dispatch(item, known === undefined)) left -= 1;
      }
    }
  }

  /** Reads a list; empty, with a line in the log, if the program fails. */
  async #read(list: string): Promise<readonly Item[]> {
    const { ctx, settings, cwd } = this.#deps;
    try {
      const child = ctx.spawn(settings.command, ["list", list, "--json", "--no-input"], {
        cwd,
        stdin: "ignore",
        signal: ctx.signal,
        timeoutMs: PROGRAM_MS,
        maxOutputBytes: OUTPUT_BYTES,
      });
      await child.started;
      const { code, stdout, stderr, truncated, reason } = await child.ended;
      if (ctx.signal.aborted) return [];
      if (code !== 0) throw new Error(`it ended with ${reason ?? code}: ${stderr.trim().slice(0, 300)}`);
      if (truncated) throw new Error("it said more than 8 MB");
      const items = readItems(stdout, list);
      this.#trouble.delete(list);
      return items;
    } catch (error) {
      const said = reasonOf(error);
      if (!ctx.signal.aborted && this.#trouble.get(list) !== said)
        ctx.log.warn({ list, command: settings.command, reason: said }, "a list of reminders could not be read; see reminders.command and reminders.lists");
      this.#trouble.set(list, said);
      return [];
    }
  }

  /** The row is there before the agent is asked, and the message has the row's key: whatever dies in between, it is one task. */
  async #dispatch(item: Item, isNew: boolean): Promise<boolean> {
    const { ctx } = this.#deps;
    const key = keyOf(item);
    const agent = await agentFor(item, ctx.agents, this.#deps.defaultAgent);
    if (agent === undefined) {
      this.#tellOnce("agent", ctx.log, "a reminder is due and no agent is there for it: mention one in its title, or set node.defaultAgent");
      return false;
    }
    const row: ItemRow = { state: "due", item: item.id, due: item.due, at: this.#now() };
    if (isNew && !(await this.#put(key, row))) return false;
    this.#publish(key, 1, "reminder:due", `a reminder of ${item.list} is due`, item);
    const { taskId } = await ctx.events.root(() =>
      ctx.tasks.accept({
        entry: "reminder",
        channel: "reminders",
        chat: item.list,
        agent,
        text: textOf(item),
        dedupKey: `reminder:${key}`,
        facts: { item: item.id, due: new Date(item.due).toISOString() },
      }),
    );
    await this.#rows.put(key, { ...row, state: "done", taskId });
    this.#publish(key, 2, "reminder:dispatched", `a reminder of ${item.list} went to ${agent}`, item, { agentId: agent, data: { taskId } });
    return true;
  }

  async #skip(item: Item): Promise<void> {
    const { ctx, settings } = this.#deps;
    const key = keyOf(item);
    if (!(await this.#put(key, { state: "skipped", item: item.id, due: item.due, at: this.#now() }))) return;
    const words = `A reminder of ${item.list} was due at ${new Date(item.due).toISOString()}, more than ${settings.lookbackHours} hours ago: it was not run.`;
    this.#publish(key, 2, "reminder:skipped", words, item);
    await ctx.services
      .get("notifier")
      ?.notify({ title: "Reminder not run", text: `${words} ${item.title}`, key: `reminder:${key}` })
      .catch((error) => ctx.log.warn({ err: error }, "nobody was told of a reminder that was not run"));
  }

  /** False where another daemon at the same store was first. */
  async #put(key: string, row: ItemRow): Promise<boolean> {
    try {
      await this.#rows.put(key, row, "absent");
      return true;
    } catch (error) {
      if (codeOf(error) === "SVC_STORE_CONFLICT") return false;
      throw error;
    }
  }

  /** With an id of the row's: told once more after a restart, it is known as the same event. Never what the item says. */
  #publish(key: string, step: number, type: string, summary: string, item: Item, more: Partial<Publication> = {}): void {
    const data = { list: item.list, due: item.due, ...more.data };
    this.#deps.ctx.events.publish({ id: `reminder_${key}:${step}`, kind: "reminder", type, summary, ref: item.id, ...more, data });
  }

  #tellOnce(what: string, log: Log, words: string): void {
    if (this.#trouble.get(what) === words) return;
    this.#trouble.set(what, words);
    log.warn(words);
  }
}

/** The agent that the item mentions, by handle or id; else the default one. */
async function agentFor(item: Item, agents: Agents, defaultAgent: () => Promise<string | undefined>): Promise<string | undefined> {
  const all = agents.list();
  for (const handle of mentionsIn(item)) {
    const plain = handle.toLowerCase();
    const found = all.find(({ id, mentions }) => id.toLowerCase() === plain || mentions.some((one) => one.replace(/^@/, "").toLowerCase() === plain));
    if (found !== undefined) return found.id;
  }
  return defaultAgent();
}
