import type { ChannelView, OfferedChannel } from "../../../admin/channel-view.ts";
import { useResource } from "../../data/resource.ts";
import type { TabId } from "./tab-items.ts";

/** A schedule, as the daemon runs it. */
export interface ScheduleFacts {
  readonly id: string;
  readonly enabled: boolean;
  readonly next: readonly string[];
  readonly running?: { readonly taskId?: string };
  readonly last?: {
    readonly at: number;
    readonly state?: string;
    readonly outcome?: string;
    readonly status?: string;
    readonly taskId?: string;
    readonly error?: string;
  };
  readonly failures: number;
  readonly turnedOff?: number;
  readonly approval?: { readonly action: "create" | "delete"; readonly requestedBy: string; readonly requestedAt: string };
}

/** A webhook, as the daemon serves it. */
export interface WebhookFacts {
  readonly id: string;
  readonly path: string;
  readonly enabled: boolean;
  readonly secret: "none" | "set" | "missing";
  readonly last?: { readonly at: number; readonly state: string };
}

/** A peer, as it was when it was asked last. */
export interface PeerFacts {
  readonly name: string;
  readonly state: "unknown" | "up" | "down" | "refused";
  readonly at?: number;
  readonly reason?: string;
}

/** An agent, as the daemon runs it. */
export interface AgentFacts {
  readonly id: string;
  readonly active: number;
  readonly queued: number;
  readonly access?: string;
}

/** The daemon's facts about the entries of a tab. */
export interface LiveFacts {
  readonly agents?: readonly AgentFacts[];
  readonly channels?: readonly ChannelView[];
  /** Absent where the daemon is of an older release. */
  readonly offered?: readonly OfferedChannel[];
  readonly schedules?: readonly ScheduleFacts[];
  readonly webhooks?: readonly WebhookFacts[];
  readonly peers?: readonly PeerFacts[];
  reload(): void;
}

const PATHS: Partial<Readonly<Record<TabId, string>>> = {
  agents: "/api/agents",
  channels: "/api/admin/channels",
  schedules: "/api/admin/schedules",
  webhooks: "/api/admin/webhooks",
  mesh: "/api/admin/mesh/peers",
};

/** Reads what the daemon says of a tab; again after each task, run and change of the configuration. */
export function useLiveFacts(tab: TabId): LiveFacts {
  const { data, reload } = useResource<Omit<LiveFacts, "reload">>(PATHS[tab], {
    refreshOn: ({ kind, type }) => kind === "status" || kind === "task" || type.startsWith("cron"),
  });
  return { ...data, reload };
}
