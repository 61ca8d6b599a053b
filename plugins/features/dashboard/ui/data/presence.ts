import { useMe } from "./me.ts";
import { useResource } from "./resource.ts";

/** How an agent is shown to people, as `GET /api/presence` answers it. */
export interface ShownAgent {
  readonly agent: string;
  /** `#RRGGBB`. */
  readonly color: string;
  readonly initial: string;
  readonly label: string;
  readonly mode?: "teach" | "act";
  readonly note?: string;
}

/** How the agent is shown; undefined where none of this daemon has such a key, which then is not asked for. */
export function usePresence(agent: string | undefined): ShownAgent | undefined {
  const has = useMe().data?.has.presence === true;
  const { data } = useResource<{ readonly presence: readonly ShownAgent[] }>(has ? "/api/presence" : undefined, {
    refreshOn: ({ type, kind }) => type === "presence:changed" || kind === "status",
  });
  return data?.presence.find((shown) => shown.agent === agent);
}
