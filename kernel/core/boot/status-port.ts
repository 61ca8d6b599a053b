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
  /** Health of the store; undefined while it is not open. */
  readonly storage: ReturnType<StateStore["health"]> | undefined;
  readonly fatal: Error | undefined;
  readonly live: Live;
}

/** Writes the lifecycle of a daemon to log and bus: enough to reconstruct afterwards what happened and when. */
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

/** Abilities of an agent at present, as `svc agent capability` shows them. Names only: no address, no credential. */
export interface AgentAbilities {
  readonly id: string;
  readonly name: string;
  readonly tier: string;
  readonly model?: string;
  /** Whether its engine is usable, as the tier reports it, or why it is not. */
  readonly engine: { readonly ok: boolean; readonly detail: string };
  /** Its engine keeps conversations itself. */
  readonly nativeSessions: boolean;
  /** The agent can be run with `autonomy: report` and `propose`. */
  readonly enforcesAutonomy: boolean;
  /** Abilities of its engine, as its tier declares them; unset where the tier is missing. */
  readonly abilities?: Required<TierAbilities>;
  /** Actions that it may call, by its configuration and its tier's word. */
  readonly actions: readonly string[];
  /** The ones of these that a run in report mode may call, too; a run that may propose asks a person for the others. */
  readonly reportingActions: readonly string[];
  /** Tools that plugins offer it. */
  readonly tools: readonly string[];
  /** Intents it takes; empty means any. */
  readonly intents: readonly string[];
  /** Names of its tool servers. */
  readonly mcpServers: readonly string[];
  /** The keys that restrict the agent, with their values. */
  readonly restrictions: Readonly<Record<string, unknown>>;
}

/** The current status of one channel, as `svc channel list` shows it. Holds no credential. */
export interface ChannelStatus {
  readonly name: string;
  readonly plugin: PluginId;
  readonly state: "connecting" | "ready" | "down";
  /** Why the channel is down, or a notice for the operator while it is ready, as the plugin worded it. */
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
  /** Logs the failures of plugins, and publishes the ones that an operator should see at once. */
  pluginEvents(log: RootLog, bus: Bus): HostEvents;
  /** Returns the abilities of an agent; queries its engine. Throws `SVC_AGENT_UNKNOWN`. */
  abilitiesOf(id: string, agents: AgentTable, live: Live, tools?: KernelTools["list"]): Promise<AgentAbilities>;
  /** Returns the health as plugins may read it. */
  lentHealth(health: Omit<DaemonHealth, "channels">, live: Live, listens: DaemonHealth["listens"], storeBytes?: number): DaemonHealth;
  /** Every channel that a running plugin provides, by name. */
  channelsOf(live: Live, unsent: (channel: string) => Promise<number>): Promise<ChannelStatus[]>;
  /** Returns our account on a channel's platform. Throws `SVC_CHANNEL_UNKNOWN`, `SVC_CHANNEL_UNTESTABLE`, `SVC_PLUGIN_TIMEOUT`, `SVC_CHANNEL_TEST`. */
  testChannelOf(name: string, live: Live, signal: AbortSignal): Promise<string>;
}
