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

/** What a plugin can provide: a line a kind, with the type of the thing. `Provide`, the host and the fake context of tests follow from it. */
export interface Provided {
  /** A way to reach people. */
  channel: Channel;
  /** An engine that runs turns. */
  tier: Tier;
  /** Typed work; the answer takes it back before the plugin ends, for actions that come and go. */
  action: Action;
  /** An HTTP route of the daemon's server or of a provided one. */
  route: HttpRoute;
  /** A further server; opens nothing by itself: see `ServerHandle`. */
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
  /** What other plugins call by name: `provide.service(name, api)`. */
  service: ProvidedService;
  /** A part of the dashboard. */
  panel: Panel;
  /** Files of the plugin's own, served as they are. */
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

/** "Exactly one by this name". A second one of a name is refused and fails the plugin that came later. */
export type Provide = { readonly [K in ProvidedKind]: K extends keyof Signatures ? Signatures[K] : (thing: Provided[K]) => void };

/** What `provide` answers for a kind. */
export type ProvidedHandle<K extends ProvidedKind> = ReturnType<Provide[K]>;

/** What host and tests must agree about, for a kind. */
export interface ProvidedRow<T> {
  /** What a plugin must declare to provide one. */
  readonly capability?: Capability;
  /** By which there is exactly one; default its `name`. */
  nameOf?(thing: T): string;
  /** The thing of what a call was given; default the first argument. */
  thingOf?(...given: unknown[]): T;
  /** The `kind` of a manifest can be this one. */
  readonly ofPlugins?: true;
}

/** Every kind, in the order in which people are shown what a plugin provides. */
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
