import type { StoreWork } from "@svc/sdk";
import type { Blocker } from "../core/flow/work.ts";
import type { LaneRules } from "./shared-lanes-options.ts";

/**
 * Returns, by conversation, why waiting work does not start; `running` are the turns of this daemon that have a slot. Work that waits for slots of
 * other daemons is omitted: those turns can end by themselves.
 */
export async function blockersOf(
  rows: Pick<StoreWork, "blocked">,
  agents: ReadonlyMap<string, LaneRules>,
  running: readonly { readonly agent: string }[],
): Promise<ReadonlyMap<string, Blocker>> {
  const found = new Map<string, Blocker>();
  for (const { conversation, agent, active } of await rows.blocked()) {
    if (agent === undefined) found.set(conversation, { by: "turn" });
    else if (active >= (agents.get(agent)?.limit ?? 0) && active <= running.filter((claim) => claim.agent === agent).length)
      found.set(conversation, { by: "agent", agent });
  }
  return found;
}
