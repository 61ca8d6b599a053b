import type { ChannelTraits, DaemonHealth, PluginId, TierAbilities } from "@svc/sdk";
import type { RootLog } from "../../base/log.ts";
import type { StateStore } from "../../base/state-store.ts";
import type { Bus } from "../bus/index.ts";
import type { KernelTools } from "../flow/actions-port.ts";
import type { LiveTasks } from "../flow/live-tasks.ts";
import type { AgentTable } from "../host/agents.ts";
import type { HostEvents } from "../host/host.ts";
import type { Live } from "../host/live.ts";
import type { Health, PluginStatus, ReloadReport } from "./kernel-api.ts";

/** The facts that `/health` is made from. */
export interface HealthDeps extends Omit<Health, "pid" | "uptimeSeconds" | "tasks" | "problems"> {
  /** Unix milliseconds. */
  readonly startedAt: number;
  readonly now: number;
  /** Undefined while nothing runs. */
  readonly tasks: Pick<LiveTasks, "running" | "queued"> | undefined;
  /** Agents that cannot run, each with the reason. */
  readonly unusable: ReadonlyMap<string, string>;
  /** What the store says of itself; undefined while it is not open. */
  readonly storage: ReturnType<StateStore["health"]> | undefined;
  readonly fatal: Error | undefined;
  readonly live: Live;
}

/** Writes a daemon's life to log and bus: enough to see afterwards what happened and when. */
export interface StatusEvents {
  starting(facts: { readonly version: string; readonly node: string; readonly folder: string; readonly dataFolder?: string }): void;
  listening(address: { readonly host: string; readonly port: number }): void;
  plugins(statuses: readonly PluginStatus[]): void;
  /** The run before was killed or crashed. */
  crashed(): void;
  running(facts: { readonly resumed: number; readonly reported: number; readonly startMs: number }, plugins: readonly PluginStatus[]): void;
  reloaded(report: ReloadReport): void;
  refused(error: unknown): void;
  stopped(): void;
}

/** What an agent can do here and now, as `svc agent capability` shows it. Names only: no address, no credential. */
export interface AgentAbilities {
  readonly id: string;
  readonly name: string;
  readonly tier: string;
  readonly model?: string;
  /** Is its engine usable? The tier's own word, or why there is none. */
  readonly engine: { readonly ok: boolean; readonly detail: string };
  /** Its engine keeps conversations itself. */
  readonly nativeSessions: boolean;
  /** It can be run with `autonomy: report` and `propose`. */
  readonly enforcesAutonomy: boolean;
  /** What its engine can do, as its tier declares it; unset where the tier is missing. */
  readonly abilities?: Required<TierAbilities>;
  /** Actions that it may call, by its configuration and its tier's word. */
  readonly actions: readonly string[];
  /** Of these, what a run that may only report may call, too; one that may propose asks a person for the others. */
  readonly reportingActions: readonly string[];
  /** Tools that plugins offer it. */
  readonly tools: readonly string[];
  /** Intents it takes; empty means any. */
  readonly intents: readonly string[];
  /** Names of its tool servers. */
  readonly mcpServers: readonly string[];
  /** Its keys that say what it may not do, or how much of it. */
  readonly restrictions: Readonly<Record<string, unknown>>;
}

/** One channel as it stands now, as `svc channel list` shows it. Holds no credential. */
export interface ChannelStatus {
  readonly name: string;
  readonly plugin: PluginId;
  readonly state: "connecting" | "ready" | "down";
  /** Why it is down, or what an operator should know of it while it is ready, in the plugin's words. */
  readonly reason?: string;
  readonly traits: ChannelTraits;
  /** `svc channel test` can ask it who it is. */
  readonly testable: boolean;
  /** Deliveries that wait in the outbox. */
  readonly unsent: number;
}

/** The room that says how a daemon is: to log, bus and those who ask. */
export interface StatusPart {
  healthOf(facts: HealthDeps): Health;
  createStatusEvents(log: RootLog, bus: Bus, name: string): StatusEvents;
  /** Writes what becomes of plugins to the log, and publishes what an operator should hear of at once. */
  pluginEvents(log: RootLog, bus: Bus): HostEvents;
  /** What an agent can do; asks its engine. Throws `SVC_AGENT_UNKNOWN`. */
  abilitiesOf(id: string, agents: AgentTable, live: Live, tools?: KernelTools["list"]): Promise<AgentAbilities>;
  /** As plugins are told of it. */
  lentHealth(health: Omit<DaemonHealth, "channels">, live: Live, listens: DaemonHealth["listens"], storeBytes?: number): DaemonHealth;
  /** Every channel that a running plugin provides, by name. */
  channelsOf(live: Live, unsent: (channel: string) => Promise<number>): Promise<ChannelStatus[]>;
  /** Asks a channel's platform who we are. Throws `SVC_CHANNEL_UNKNOWN`, `SVC_CHANNEL_UNTESTABLE`, `SVC_PLUGIN_TIMEOUT`, `SVC_CHANNEL_TEST`. */
  testChannelOf(name: string, live: Live, signal: AbortSignal): Promise<string>;
}
