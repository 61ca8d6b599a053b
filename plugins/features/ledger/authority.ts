import { type Agents, type Inbound, type Route, routeTo, type TierEvent, type Turn } from "@svc/sdk";
import type { Entries } from "./entries.ts";
import type { Matter } from "./topic-of.ts";

/** Dependencies of the mode `authoritative`. */
export interface AuthorityDeps {
  readonly entries: Entries;
  readonly agents: Pick<Agents, "get">;
  matterOf(message: Inbound): Matter | undefined;
}

/**
 * Returns the route of a message to the agent that owns its subject; undefined if it has no owner, or goes there anyway. A request between agents
 * goes where it was addressed: `refusalOf` checks it.
 */
export async function routeOf(message: Inbound, { entries, agents, matterOf }: AuthorityDeps): Promise<Route | undefined> {
  if (message.options?.askedBy !== undefined) return undefined;
  const matter = matterOf(message);
  const holder = matter && (await entries.get(matter))?.agent;
  if (holder === undefined || holder === message.agent || agents.get(holder) === undefined) return undefined;
  return routeTo(holder, message);
}

/**
 * Takes the subject of a turn for its agent, or says why it may not run: another agent has it, and has not handed it on. The holder keeps
 * what others do for it. An agent that is not configured any more has lost what it had.
 */
export async function refusalOf(
  { id, agent, rootId, messages: [message] }: Turn,
  { entries, agents, matterOf }: AuthorityDeps,
): Promise<AsyncGenerator<TierEvent> | undefined> {
  const matter = matterOf(message);
  if (matter === undefined) return undefined;
  const holder = await entries.claim({ ...matter, agent: agent.id, root: rootId, task: id }, (held) => agents.get(held) === undefined);
  const { askedBy, chain = [] } = message.options ?? {};
  if (holder === undefined || holder === askedBy || chain.includes(holder)) return undefined;
  const { project, subject } = matter;
  return refused(`The ledger has '${holder}' for '${subject}' of '${project}': ask that agent, or give it to '${agent.id}' with svc ledger assign.`);
}

async function* refused(message: string): AsyncGenerator<TierEvent> {
  yield { type: "error", kind: "ledger", message };
}
