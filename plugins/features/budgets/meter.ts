import { type Collection, codeOf, type Doc, type Op, put, type Store, type Usage } from "@svc/sdk";
import { ALL, amountOf, type Cap, capsOf, NOTHING, type Period, priceOf, shareWords, spentOf, type Used } from "./caps.ts";
import type { BudgetSettings } from "./settings.ts";
import type { Window, Windows } from "./windows.ts";

/** Counters of one window, of one agent or of all (`*`). Times in Unix milliseconds. */
export interface WindowRow extends Window, Used {
  readonly agent: string;
}

/** One turn that was let in. `told` is what of its run under way (or last one) has been counted. */
export interface TurnRow {
  readonly agent: string;
  readonly at: number;
  /** The start of that run: another one of the same turn, after a restart, is counted beside it. */
  readonly run: number;
  readonly told: { readonly tokens: number; readonly micros: number };
  /** 1 until its end is counted. */
  readonly open: 0 | 1;
}

/** A cap of which four fifths are used. */
export interface Warning extends Cap {
  readonly agent: string;
  readonly window: Window;
  readonly amount: number;
}

/** A window with its usage and its caps, for people. */
export interface Standing extends WindowRow {
  readonly caps: readonly Cap[];
}

/** Dependencies of the counters. */
export interface MeterDeps {
  readonly store: Pick<Store, "collection" | "commit">;
  readonly windows: Windows;
  settings(): BudgetSettings;
  warn(warning: Warning): void;
  /** Called when money is capped and the price of a model is unknown. */
  unpriced(model: string | undefined): void;
  now?: () => number;
}

/** Other daemons at the same rows: each retry sees one commit more. */
const RETRIES = 100;
const WARNED_SHARE = 0.8;

const keyOf = ({ period, from }: Window, agent: string): string => `${period}|${new Date(from).toISOString()}|${agent}`;

/** Counts turns, tokens and money in rows of absolute windows. Each commit writes a turn and its windows together, so that nothing counts twice. */
export class Meter {
  readonly #deps: MeterDeps;
  readonly #windows: Collection<WindowRow>;
  readonly #turns: Collection<TurnRow>;
  readonly #now: () => number;
  /** One after the other: turns of this daemon do not make each other try again. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(deps: MeterDeps) {
    this.#deps = deps;
    this.#now = deps.now ?? Date.now;
    this.#windows = deps.store.collection("windows", { indexes: ["to"] });
    this.#turns = deps.store.collection("turns", { indexes: ["at", "open"] });
  }

  /** Counts the start of a turn, or answers why it may not start. A turn that starts again after a restart is no further one. */
  begin(id: string, agent: string, run: number): Promise<string | undefined> {
    return this.#inTurn(async () => {
      const turn = await this.#turns.get(id);
      const rows = await this.#rowsOf(agent);
      const refusal = this.#refusal(rows, turn === undefined);
      if (refusal !== undefined) return refusal;
      const row: TurnRow = { agent, at: turn?.value.at ?? this.#now(), run, told: turn?.value.run === run ? turn.value.told : NOTHING, open: 1 };
      await this.#commit([put("turns", id, row, turn?.version ?? "absent")], rows, { ...NOTHING, turns: turn === undefined ? 1 : 0 });
      return undefined;
    });
  }

  /** Counts what of a run's usage is new. Answers what the run has used. */
  count(id: string, agent: string, usage: Usage | undefined, model: string | undefined, ended: boolean): Promise<Used> {
    return this.#inTurn(async () => {
      const turn = await this.#turns.get(id);
      const told = turn?.value.told ?? NOTHING;
      const settings = this.#deps.settings();
      const { unpriced, ...spent }: ReturnType<typeof spentOf> = usage === undefined ? told : spentOf(usage, priceOf(settings.prices, model));
      if (unpriced && capsMoney(settings)) this.#deps.unpriced(model);
      // An engine that counts anew within its run tells less than before.
      const again = spent.tokens < told.tokens;
      const more = {
        turns: 0,
        tokens: again ? spent.tokens : spent.tokens - told.tokens,
        micros: Math.max(0, again ? spent.micros : spent.micros - told.micros),
      };
      const row: TurnRow = { agent, at: this.#now(), run: 0, ...turn?.value, told: { tokens: spent.tokens, micros: spent.micros }, open: ended ? 0 : 1 };
      if (more.tokens === 0 && more.micros === 0 && row.open === turn?.value.open) return { turns: 1, ...spent };
      await this.#commit([put("turns", id, row, turn?.version ?? "absent")], await this.#rowsOf(agent), more);
      return { turns: 1, tokens: spent.tokens, micros: spent.micros };
    });
  }

  /** Turns whose end was not counted: the daemon died over them. */
  async open(): Promise<readonly { readonly id: string; readonly agent: string }[]> {
    return (await this.#turns.list({ where: { open: 1 }, limit: 1_000 })).map(({ key, value }) => ({ id: key, agent: value.agent }));
  }

  /** The windows of this moment, of all agents together and of each of those named. */
  async standing(agents: readonly string[]): Promise<readonly Standing[]> {
    const settings = this.#deps.settings();
    const found: Standing[] = [];
    for (const agent of [ALL, ...agents])
      for (const { value } of await this.#rowsFor(agent)) found.push({ ...value, caps: capsOf(settings, agent, value.period) });
    return found;
  }

  /** Forgets windows that ended before, and turns that began before. */
  async sweep(before: number): Promise<void> {
    for (const [rows, by] of [
      [this.#windows, "to"],
      [this.#turns, "at"],
    ] as const)
      for (;;) {
        const old = await (rows as Collection<unknown>).list({ by, to: before, limit: 500 });
        for (const { key } of old) await rows.delete(key);
        if (old.length < 500) break;
      }
  }

  #refusal(rows: readonly Doc<WindowRow>[], starts: boolean): string | undefined {
    for (const { value } of rows)
      for (const { measure, cap, setting } of capsOf(this.#deps.settings(), value.agent, value.period)) {
        const amount = amountOf(value, measure);
        // A task that is resumed after a restart was admitted before.
        if (amount < cap || (measure === "turns" && !starts)) continue;
        const whose = value.agent === ALL ? "all agents together" : `the agent '${value.agent}'`;
        return `The budget of ${whose} is used up: ${shareWords(amount, cap, measure)} in this ${value.period} (${setting}). There is room again at ${new Date(value.to).toISOString()}; or raise the setting.`;
      }
    return undefined;
  }

  async #rowsOf(agent: string): Promise<readonly Doc<WindowRow>[]> {
    return [...(await this.#rowsFor(agent)), ...(await this.#rowsFor(ALL))];
  }

  /** Of this moment: a row that is not there yet has version 0. */
  async #rowsFor(agent: string): Promise<readonly Doc<WindowRow>[]> {
    const windows = await this.#deps.windows.at(this.#now(), this.#deps.settings().timezone ?? "UTC");
    return Promise.all(
      windows.map(async ({ period, from, to }) => {
        const key = keyOf({ period, from, to }, agent);
        return (await this.#windows.get(key)) ?? { key, value: { period, from, to, agent, ...NOTHING }, version: 0 };
      }),
    );
  }

  async #commit(ops: readonly Op[], rows: readonly Doc<WindowRow>[], more: Used): Promise<void> {
    const added = rows.map(({ key, value, version }) => ({
      key,
      version,
      before: value,
      value: { ...value, turns: value.turns + more.turns, tokens: value.tokens + more.tokens, micros: value.micros + more.micros },
    }));
    await this.#deps.store.commit([...ops, ...added.map(({ key, value, version }) => put("windows", key, value, version === 0 ? "absent" : version))]);
    for (const { before, value } of added)
      for (const cap of capsOf(this.#deps.settings(), value.agent, value.period)) {
        const amount = amountOf(value, cap.measure);
        const least = cap.cap * WARNED_SHARE;
        if (amount >= least && amountOf(before, cap.measure) < least)
          this.#deps.warn({ ...cap, agent: value.agent, window: { period: value.period, from: value.from, to: value.to }, amount });
      }
  }

  /** Runs `work` after what came before, and again where another daemon wrote in between. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const tried = async (): Promise<T> => {
      for (let retry = 0; ; retry += 1) {
        try {
          return await work();
        } catch (error) {
          if (codeOf(error) !== "SVC_STORE_CONFLICT" || retry >= RETRIES) throw error;
        }
      }
    };
    const result = this.#last.then(tried, tried);
    this.#last = result.catch(() => undefined);
    return result;
  }
}

const PERIODS: readonly (Period | "run")[] = ["hour", "day", "run"];

/** Whether any cap is one of money. */
const capsMoney = (settings: BudgetSettings): boolean =>
  [ALL, ...Object.keys(settings.agents ?? {}), ""].some((agent) =>
    PERIODS.some((period) => capsOf(settings, agent, period).some(({ measure }) => measure === "money")),
  );
