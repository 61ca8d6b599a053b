import type { Action, AgentTool, ChannelTraits, HttpRoute, Plugin, TapOptions, TierAbilities } from "@svc/sdk";
import type { CrossingKind } from "../core/host/kinds.ts";
import type { HookName } from "../core/host/scope.ts";

/** Description of an imported plugin: all of `Plugin` but its code. */
export type Described = Pick<Plugin<never>, "kind" | "name" | "version" | "svc" | "config" | "agentConfig" | "capabilities">;

/** The optional members of a channel that may be called. */
export type ChannelMethod = "edit" | "remove" | "react" | "typing" | "fetchMedia" | "test";
/** The same, for asking which of them a channel has. */
export const CHANNEL_METHODS: readonly ChannelMethod[] = ["edit", "remove", "react", "typing", "fetchMedia", "test"];

/** Description of a thing for the daemon, by kind: all of its data, and which of its optional functions exist. */
interface CrossedThings {
  channel: { readonly name: string; readonly traits: ChannelTraits; readonly methods: readonly ChannelMethod[] };
  tier: { readonly name: string; readonly abilities: TierAbilities; readonly probe: boolean };
  action: Omit<Action, "run">;
  tool: { readonly tool: Omit<AgentTool, "run" | "for">; readonly chosen: boolean };
  route: { readonly route: Omit<HttpRoute, "handle" | "before">; readonly before: boolean };
}

/** Description of a kind: one that `KINDS` allows to cross and that is missing in `CrossedThings` does not compile. */
export type Crossed<K extends CrossingKind> = CrossedThings[K];

/** A thing that its setup registered. Called by its index in the list. */
export type Registration =
  | { readonly kind: "tap"; readonly hook: HookName; readonly options: TapOptions }
  | { [K in CrossingKind]: { readonly kind: K; readonly thing: Crossed<K> } }[CrossingKind];

/** Result of its setup. */
export interface SetUp {
  readonly registrations: readonly Registration[];
  /** The members of its lifecycle. */
  readonly lifecycle: readonly ("start" | "stop" | "reload")[];
}

/** Mirror of the daemon's data in the plugin's process, because the context answers from it synchronously: refreshed when it changes. */
export interface Mirror {
  readonly agents?: readonly unknown[];
  readonly actions?: readonly unknown[];
}

/** The answer of a route's handler, whole. */
export interface RouteAnswer {
  readonly status?: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Return value of the handler, unless it has sent a body itself. */
  readonly value?: unknown;
  readonly sent?: { readonly body: string | Uint8Array; readonly type: string };
}
