import type { Action } from "../action.ts";
import type { Channel } from "../channel.ts";
import type { Hooks, TapOptions } from "../hooks.ts";
import type { Authority, HttpRoute, ProvidedServer } from "../http.ts";
import type { AgentTool } from "../plugin.ts";
import type { Tier } from "../tier.ts";

/** A tap as registered. Call `tap` with the hook's arguments. */
export interface RegisteredTap {
  readonly hook: keyof Hooks;
  readonly tap: (...args: never[]) => unknown;
  readonly options: TapOptions;
}

/** A job as registered. Nothing runs by itself: a test calls `run`. */
export interface RegisteredJob {
  readonly kind: "cron" | "after" | "every";
  /** Only of `cron`. */
  readonly id?: string;
  readonly expression?: string;
  readonly timezone?: string;
  /** Only of `after` and `every`. */
  readonly ms?: number;
  readonly run: (minute: Date) => Promise<void> | void;
}

/** What a plugin has registered and not taken back, in order. */
export interface Registered {
  readonly taps: RegisteredTap[];
  readonly channels: { readonly channel: Channel; state: "connecting" | "ready" | "down"; reason?: string }[];
  readonly tiers: Tier[];
  readonly actions: Action[];
  readonly routes: HttpRoute[];
  readonly servers: { readonly server: ProvidedServer; open: boolean }[];
  readonly authorities: Authority[];
  readonly tools: AgentTool[];
  readonly jobs: RegisteredJob[];
}

export const emptyRegister = (): Registered => ({
  taps: [],
  channels: [],
  tiers: [],
  actions: [],
  routes: [],
  servers: [],
  authorities: [],
  tools: [],
  jobs: [],
});

/** Adds to a list and returns the way to take it back. */
export function enlist<T>(list: T[], thing: T): () => void {
  list.push(thing);
  return () => {
    const at = list.indexOf(thing);
    if (at !== -1) list.splice(at, 1);
  };
}
