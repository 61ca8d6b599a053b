import { codeOf, type HttpRoute, type PluginContext } from "@svc/sdk";
import { amountOf, type Measure } from "./caps.ts";
import type { Standing } from "./meter.ts";

/** One measure of a window, for people and programs. */
export interface Line {
  /** An agent's id, or `*` for all together. */
  readonly agent: string;
  readonly period: "hour" | "day";
  /** ISO 8601. */
  readonly from: string;
  readonly to: string;
  readonly turns: number;
  readonly tokens: number;
  /** US dollars. */
  readonly money: number;
  readonly caps: readonly { readonly measure: Measure; readonly used: number; readonly cap: number; readonly setting: string }[];
}

/** A window as it is told. */
export const lineOf = (standing: Standing): Line => ({
  agent: standing.agent,
  period: standing.period,
  from: new Date(standing.from).toISOString(),
  to: new Date(standing.to).toISOString(),
  turns: standing.turns,
  tokens: standing.tokens,
  money: standing.micros / 1_000_000,
  caps: standing.caps.map(({ measure, cap, setting }) => ({ measure, used: amountOf(standing, measure), cap, setting })),
});

/** The counters for programs of this machine and for the dashboard, and the panel that shows them there. */
export function provideViews(ctx: Pick<PluginContext, "log" | "provide">, standing: () => Promise<readonly Standing[]>): void {
  const handle = async () => ({ budgets: (await standing()).map(lineOf) });
  ctx.provide.route({ method: "GET", path: "/budgets", guard: "loopback", handle });
  const route: HttpRoute = { method: "GET", path: "/api/budgets", guard: "scope:dashboard:read", server: "dashboard", handle };
  try {
    ctx.provide.route(route);
  } catch (error) {
    // No plugin here has the dashboard's scopes: there is no dashboard.
    if (codeOf(error) !== "SVC_HTTP_ROUTE") throw error;
    return;
  }
  ctx.provide.files({ prefix: "/budgets", folder: "ui", guard: "open", server: "dashboard" });
  ctx.provide.panel({ id: "budgets", title: "Budgets", place: "card", guard: "scope:dashboard:read", module: "/budgets/panel.js" });
}
