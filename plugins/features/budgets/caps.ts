import type { Usage } from "@svc/sdk";
import type { AgentBudget, BudgetSettings, Caps, Price } from "./settings.ts";

/** Window of a cap. */
export type Period = "hour" | "day";
/** Counted quantity. */
export type Measure = keyof Caps;
/** Counters of a window or a turn: money in millionths of a dollar, so that sums are exact. */
export interface Used {
  readonly turns: number;
  readonly tokens: number;
  readonly micros: number;
}

/** One cap, and the setting that says it. */
export interface Cap {
  readonly measure: Measure;
  readonly cap: number;
  readonly setting: string;
}

/** All agents together, as a key of counters; no agent can be called so. */
export const ALL = "*";
/** Where nothing was used yet. */
export const NOTHING: Used = { turns: 0, tokens: 0, micros: 0 };
const MEASURES: readonly Measure[] = ["turns", "tokens", "money"];

/** The caps of an agent, or of all together, in a period or a run. What the agent's own entry does not say, `eachAgent` does. */
export function capsOf(settings: BudgetSettings, agent: string, period: Period | "run"): readonly Cap[] {
  const own = settings.agents !== undefined && Object.hasOwn(settings.agents, agent) ? settings.agents[agent] : undefined;
  const places: readonly (readonly [string, AgentBudget | undefined])[] =
    agent === ALL
      ? [["budgets.all", settings.all]]
      : [
          [`budgets.agents.${agent}`, own],
          ["budgets.eachAgent", settings.eachAgent],
        ];
  return MEASURES.flatMap((measure) => {
    for (const [place, budget] of places) {
      const cap = (budget?.[period] as Caps | undefined)?.[measure];
      if (cap !== undefined) return [{ measure, cap, setting: `${place}.${period}.${measure}` }];
    }
    return [];
  });
}

/** Returns the used amount of a measure, in the unit of its cap. */
export const amountOf = ({ turns, tokens, micros }: Used, measure: Measure): number =>
  measure === "turns" ? turns : measure === "tokens" ? tokens : micros / 1_000_000;

const dollars = (amount: number): string => `$${amount.toFixed(amount > 0 && amount < 0.1 ? 4 : 2)}`;

/** For people: `12 turns`, `$1.50`. */
export const amountWords = (amount: number, measure: Measure): string => (measure === "money" ? dollars(amount) : `${Math.round(amount)} ${measure}`);

/** For people: `12 of 20 turns`, `$1.50 of $5.00`. */
export const shareWords = (amount: number, cap: number, measure: Measure): string =>
  `${measure === "money" ? dollars(amount) : Math.round(amount)} of ${amountWords(cap, measure)}`;

/** The price of a model: its own, else that of the longest beginning. */
export function priceOf(prices: Readonly<Record<string, Price>> = {}, model = ""): Price | undefined {
  if (Object.hasOwn(prices, model)) return prices[model];
  const fitting = Object.keys(prices).filter((name) => name.endsWith("*") && model.startsWith(name.slice(0, -1)));
  return prices[fitting.sort((left, right) => right.length - left.length)[0] ?? ""];
}

const natural = (value: number | undefined): number => (value !== undefined && Number.isFinite(value) && value > 0 ? value : 0);

/** Returns tokens and money of a usage: by the price table, else as the engine reports. `unpriced` if the cost is unknown. */
export function spentOf(usage: Usage, price: Price | undefined): { readonly tokens: number; readonly micros: number; readonly unpriced?: true } {
  const [input, output, read, create] = [usage.input, usage.output, usage.cacheRead, usage.cacheCreate].map(natural) as [number, number, number, number];
  const tokens = Math.round(input + output + read + create);
  // A price for a million tokens in dollars is one for a token in millionths of a dollar.
  if (price !== undefined)
    return {
      tokens,
      micros: Math.round(input * price.input + output * price.output + read * (price.cacheRead ?? price.input) + create * (price.cacheCreate ?? price.input)),
    };
  if (usage.cost !== undefined) return { tokens, micros: Math.round(natural(usage.cost) * 1_000_000) };
  return { tokens, micros: 0, ...(tokens > 0 ? { unpriced: true as const } : {}) };
}
