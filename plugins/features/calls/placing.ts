import { randomBytes } from "node:crypto";
import type { CallSettings, PluginContext } from "@svc/sdk";
import type { CallRow, Place } from "./call-row.ts";
import { fail } from "./errors.ts";
import type { CallsSettings } from "./settings.ts";
import { mayCallIn, mayRing, type Placer, placeOf, placesOf } from "./who-may.ts";

/** A call that somebody wants to place. */
export interface Wanted {
  readonly kind: "call" | "camera";
  /** An agent, a chat of `ringNotify`, or nothing for all chats. */
  readonly to?: string;
  readonly agent?: string;
  readonly why?: string;
  /** Name of the person at this machine who places the call. */
  readonly by?: string;
  /** The address by which the daemon was asked. */
  readonly host?: string;
}

/** Inputs of the decision about a requested call. */
export interface Placing {
  readonly ctx: Pick<PluginContext, "agents">;
  readonly rules: CallSettings;
  readonly settings: CallsSettings;
  readonly at: number;
  readonly owner: string;
}

/** The row of a call that may be placed, and the chats in which it rings. Throws with who would have to allow it. */
export function placed(
  wanted: Wanted,
  placer: Placer,
  { ctx, rules, settings, at, owner }: Placing,
): { readonly row: CallRow; readonly places: readonly Place[] } {
  const { kind, to, why } = wanted;
  const { peer } = placer;
  const known = to === undefined || ctx.agents.get(to) !== undefined;
  const inbound = kind === "call" && (peer !== undefined || (to !== undefined && known));
  if (kind === "call" && !rules.bot.enabled) throw fail("SVC_CALLS_BOT");
  if (peer !== undefined) {
    if (!mayCallIn(rules.allowedCallers, peer)) throw fail("SVC_CALLS_CALLER", { caller: peer });
    if (kind === "camera" || !known) throw fail("SVC_CALLS_OF_PEER", { to: to ?? "somebody" });
  }
  // Before the agent: who misspells an agent hears of the name, and is not asked which agent.
  const places = inbound
    ? peer === undefined
      ? []
      : rules.ringNotify.map(placeOf)
    : placesOf(
        rules,
        to,
        ctx.agents.list().map(({ id }) => id),
      );
  const agent = agentOf(wanted, placer, { ctx, rules, inbound });
  if (!inbound && !mayRing(settings.allow, agent)) throw fail("SVC_CALLS_NOT_ALLOWED", { agent });
  const caller = inbound ? (peer ?? wanted.by ?? "this machine") : agent;
  const row: CallRow = {
    id: `c${randomBytes(6).toString("hex")}`,
    kind,
    direction: inbound ? "in" : "out",
    agent,
    owner,
    caller,
    person: inbound ? caller : "somebody",
    ...(why === undefined ? {} : { why }),
    state: "ringing",
    live: 1,
    owed: 0,
    at,
    ringUntil: at + settings.ringSeconds * 1000,
    rings: [],
    said: 0,
    sent: 0,
    frames: 0,
  };
  return { row, places };
}

/** A task rings in the name of its own agent, and rings people. */
function agentOf({ agent, to }: Wanted, { task }: Placer, { ctx, rules, inbound }: Pick<Placing, "ctx" | "rules"> & { readonly inbound: boolean }): string {
  if (task !== undefined && (inbound || (agent ?? task) !== task)) throw fail("SVC_CALLS_OF_AGENT", { agent: task });
  const id = task ?? (inbound ? to : undefined) ?? agent ?? rules.bot.defaultAgentId;
  if (id === undefined || ctx.agents.get(id) === undefined) throw fail("SVC_CALLS_AGENT");
  return id;
}
