import { type Agent, coversName } from "@svc/sdk";
import type { Live } from "./live.ts";

const NONE: readonly string[] = [];

/** The actions that the agent can call itself while it runs. */
export function callableBy(agent: Agent, live: Live): readonly string[] {
  const patterns = patternsOf(agent, live);
  if (patterns.length === 0) return NONE;
  return [...live.actions.values()].flatMap(({ thing }) => (thing.unusable === undefined && coversName(patterns, thing.name) ? [thing.name] : []));
}

/** A tier whose `actions` throws offers none: the run itself will report the error. */
function patternsOf(agent: Agent, live: Live): readonly string[] {
  try {
    return live.tiers.get(agent.tier)?.thing.actions?.(agent) ?? NONE;
  } catch {
    return NONE;
  }
}
