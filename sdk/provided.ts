import type { Action } from "./action.ts";
import type { AgentTool, AgentToolSet } from "./agent-tool.ts";
import type { Board } from "./board.ts";
import type { Capability } from "./capabilities.ts";
import type { Channel, ChannelHandle } from "./channel.ts";
import type { Authority, HttpRoute, ProvidedServer, ServerHandle } from "./http.ts";
import type { Panel } from "./panel.ts";
import type { ProvidedFiles } from "./provided-files.ts";
import type { ProvidedService, ServiceName, ServiceTypes } from "./services.ts";
import type { ProvidedStore } from "./store-driver.ts";
import type { Tier } from "./tier.ts";

export type * from "./board.ts";
export type * from "./panel.ts";
export type * from "./provided-files.ts";
export type * from "./services.ts";

/** Kinds of provided things: one line each, with the type of the thing. `Provide`, the host and the fake context of tests are derived from it. */
export interface Provided {
  /** A way to reach people. */
  channel: Channel;
  /** An engine that runs turns. */
  tier: Tier;
  /** Typed work; the answer takes it back before the plugin ends, for actions that come and go. */
  action: Action;
  /** An HTTP route of the daemon's server or of a provided one. */
  route: HttpRoute;
  /** A further server; it does not listen by itself: see `ServerHandle`. */
  server: ProvidedServer;
  /** Judges bearers for routes guarded by `scope:` and `peer`. */
  authority: Authority;
  /** Offered to agents by the tools server . */
  tool: AgentTool;
  /** Such tools that come and go, or differ from agent to agent. */
  toolset: AgentToolSet;
  /** A place for the daemon's state. */
  store: ProvidedStore;
  /** A source of work items. */
  board: Board;
  /** API that other plugins call by name: `provide.service(name, api)`. */
  service: ProvidedService;
  /** A part of the dashboard. */
  panel: Panel;
  /** Static files of the plugin. */
  files: ProvidedFiles;
}

/** A kind of provided thing. */
export type ProvidedKind = keyof Provided;

/** The kinds whose things plugins may use of each other: `ctx.services.list`. */
export type SharedKind = "board" | "panel";

/** The calls of kinds for which `provide` answers something or is given more than the thing. */
interface Signatures {
  channel: (channel: Channel) => ChannelHandle;
  action: (action: Action) => () => void;
  server: (server: ProvidedServer) => ServerHandle;
  service: <N extends ServiceName>(name: N, api: ServiceTypes[N]) => void;
}

/** "Exactly one by this name". A second one of a name is refused and fails the later plugin. */
export type Provide = { readonly [K in ProvidedKind]: K extends keyof Signatures ? Signatures[K] : (thing: Provided[K]) => void };

/** Return type of `provide` for a kind. */
export type ProvidedHandle<K extends ProvidedKind> = ReturnType<Provide[K]>;

/** Facts about a kind that host and tests share. */
export interface ProvidedRow<T> {
  /** Capability that a plugin must declare to provide one. */
  readonly capability?: Capability;
  /** Returns the unique name of a thing; default its `name`. */
  nameOf?(thing: T): string;
  /** Returns the thing from the arguments of a call; default the first one. */
  thingOf?(...given: unknown[]): T;
  /** The `kind` of a manifest can be this one. */
  readonly ofPlugins?: true;
}

/** Every kind, in the order in which a plugin's registrations are shown. */
export const PROVIDED: { readonly [K in ProvidedKind]: ProvidedRow<Provided[K]> } = {
  channel: { ofPlugins: true },
  tier: { ofPlugins: true },
  action: { ofPlugins: true },
  route: { capability: "routes", nameOf: ({ server = "daemon", method, path }) => `${server} ${method} ${path.replace(/:\w+/g, ":*")}` },
  server: { capability: "routes" },
  authority: {},
  tool: {},
  toolset: {},
  store: { ofPlugins: true },
  board: { ofPlugins: true },
  service: { thingOf: (name, api) => ({ name, api }) as ProvidedService },
  panel: { nameOf: ({ id }) => id },
  files: { capability: "routes", nameOf: ({ server = "daemon", prefix }) => `${server} ${prefix}` },
};

/** The name by which there is exactly one thing of its kind. Two routes of one place, whatever their parameters are called, have one name. */
export function providedName<K extends ProvidedKind>(kind: K, thing: Provided[K]): string {
  const { nameOf } = PROVIDED[kind] as ProvidedRow<Provided[K]>;
  return nameOf === undefined ? (thing as { readonly name: string }).name : nameOf(thing);
}

/** The thing that a call of `provide` was given. */
export function providedThing<K extends ProvidedKind>(kind: K, given: readonly unknown[]): Provided[K] {
  const { thingOf } = PROVIDED[kind] as ProvidedRow<Provided[K]>;
  return thingOf === undefined ? (given[0] as Provided[K]) : thingOf(...given);
}

/** A kind's name where a list or table of its things is meant: `channels`, `authorities`. */
export type Plural<K extends string> = K extends `${string}s` ? K : K extends `${infer Stem}y` ? `${Stem}ies` : `${K}s`;

/** `channels` of `channel`, `authorities` of `authority`. */
export const pluralOf = <K extends string>(kind: K): Plural<K> => (kind.endsWith("s") ? kind : `${kind.replace(/y$/, "ie")}s`) as Plural<K>;
