import type { PermissionMode } from "./program-tier.ts";
import type { Tier } from "./tier.ts";

/** Autonomy of a run: read only, propose changes, or act. */
export type Autonomy = "report" | "propose" | "act";

/** Abilities of an engine, declared by its tier. An omitted one is false. */
export interface TierAbilities {
  /** The engine stores conversations itself: sessions rotate and resume. */
  readonly nativeSessions?: boolean;
  /** Sessions are not bound to the machine where they began: each daemon of the same state can resume them. */
  readonly sessionsAnywhere?: boolean;
  /** The autonomy below `act` that it enforces; runs of any other are refused. */
  readonly autonomy?: readonly Exclude<Autonomy, "act">[];
  /** The values of `permissionMode` that mean something to it. */
  readonly permissionModes?: readonly PermissionMode[];
  /** The engine gives the agent the tool servers of its configuration. */
  readonly toolServers?: boolean;
  /** The engine shows the model the pictures of a message. */
  readonly pictures?: boolean;
}

/** Does the engine keep conversations itself? */
export const keepsSessions = ({ abilities, nativeSessions }: Pick<Tier, "abilities" | "nativeSessions">): boolean =>
  abilities?.nativeSessions ?? nativeSessions === true;

/** Whether the tier's conversations can only continue on the machine where they began. */
export const bindsSessions = (tier: Pick<Tier, "abilities" | "nativeSessions">): boolean => keepsSessions(tier) && tier.abilities?.sessionsAnywhere !== true;

/** Does the engine hold a run to that autonomy? */
export const enforcesAutonomy = ({ abilities, enforcesAutonomy: all }: Pick<Tier, "abilities" | "enforcesAutonomy">, autonomy: Autonomy): boolean =>
  autonomy === "act" || (abilities?.autonomy?.includes(autonomy) ?? all === true);

/** All abilities of a tier, the older declarations among them. */
export function tierAbilities(tier: Pick<Tier, "abilities" | "nativeSessions" | "enforcesAutonomy">): Required<TierAbilities> {
  const { sessionsAnywhere = false, permissionModes = [], toolServers = false, pictures = false } = tier.abilities ?? {};
  return {
    nativeSessions: keepsSessions(tier),
    sessionsAnywhere,
    autonomy: (["report", "propose"] as const).filter((autonomy) => enforcesAutonomy(tier, autonomy)),
    permissionModes,
    toolServers,
    pictures,
  };
}
