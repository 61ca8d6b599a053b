import { useMe } from "./me.ts";
import { useResource } from "./resource.ts";

/** Presentation of an agent, from `GET /api/presence`. */
export interface ShownAgent {
  readonly agent: string;
  /** `#RRGGBB`. */
  readonly color: string;
  readonly initial: string;
  readonly label: string;
  readonly mode?: "teach" | "act";
  readonly note?: string;
}

/** Presentation of the agent; undefined if no agent of this daemon has one: then it is not requested. */
export function usePresence(agent: string | undefined): ShownAgent | undefined {
  const has = useMe().data?.has.presence === true;
  const { data } = useResource<{ readonly presence: readonly ShownAgent[] }>(has ? "/api/presence" : undefined, {
    refreshOn: ({ type, kind }) => type === "presence:changed" || kind === "status",
  });
  return data?.presence.find((shown) => shown.agent === agent);
}
