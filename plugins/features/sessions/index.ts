import { definePlugin, type Lifecycle, type TierEvent, type Turn, type TurnContext, type TurnEnd } from "@svc/sdk";
import { createBudget } from "./budget.ts";
import { createMemory } from "./memory.ts";
import { type Kept, type Rotation, rotationOf, totalInput } from "./rotation.ts";
import type { SessionSettings } from "./settings.ts";

const HOUR_MS = 3_600_000;
/** No idle limit is longer than a day: after a week only the event of its rotation is lost. */
const FORGET_MS = 7 * 24 * HOUR_MS;
/** After all that may take the turn over: those start no process. */
const LAST = 1000;

/** Gives each turn the native session of its conversation, rotates it (000:L164), and refuses cold `cli-a` runs over the budget (000:L359). */
export default definePlugin<SessionSettings>({
  kind: "feature",
  name: "sessions",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "session" },
  capabilities: ["store", "events", "warm", "jobs"],
  setup(ctx): Lifecycle<SessionSettings> {
    let limits = ctx.config;
    const memory = createMemory(() => ctx.store.collection<Kept>("sessions", { indexes: ["at"] }), ctx.log);
    const budget = createBudget(
      () => ctx.store.journal<number>("cold-runs"),
      ctx.log,
      (event) => void ctx.events.publish(event),
    );
    ctx.hooks.assembleContext.tap((context, turn) => (turn.nativeSessions ? resume(context, turn) : context), { phase: "session", step: "session" });

    ctx.hooks.dispatch.tap(
      (turn, context) => {
        if (turn.agent.tier !== "cli-a" || isWarm(turn, context)) return undefined;
        return budget.spend(turn.startedAt, limits).then((refusal) => (refusal === undefined ? undefined : refused(refusal)));
      },
      { stage: LAST, step: "budget" },
    );

    async function resume(context: TurnContext, turn: Turn): Promise<TurnContext> {
      const key = JSON.stringify([turn.agent.id, turn.agent.tier, turn.route.conversation]);
      let resumed: { readonly before: Kept | undefined } | undefined;
      // Set before the conversation's next turn is prepared. A turn that continued before this tap had answered has another session.
      void turn.ended.then((end) => resumed && note(key, resumed.before, turn, end));
      const kept = await memory.get(key);
      const rotation = kept?.session === undefined ? undefined : whyFresh(turn, kept, limits);
      if (rotation !== undefined) {
        // Stored at once: a turn that fails must not rotate the same session again.
        memory.set(key, { turns: 0, at: turn.startedAt, input: 0 });
        tell(turn, rotation);
      }
      const before = rotation === undefined ? kept : undefined;
      resumed = { before };
      return before?.session === undefined ? context : { ...context, session: before.session };
    }

    function note(key: string, before: Kept | undefined, { strategy }: Turn, { result, session: named, usage, at, replaced }: TurnEnd): void {
      const session = named ?? before?.session;
      // An engine that never took the turn up has changed nothing.
      if (replaced || session === undefined || (named === undefined && !result.ok)) return;
      const input = usage === undefined ? 0 : totalInput(usage);
      memory.set(key, { session, turns: (before?.turns ?? 0) + 1, at, input, ...(strategy === "planner" ? { planned: true } : {}) });
    }

    function tell(turn: Turn, { reason, words }: Rotation): void {
      const { conversation } = turn.route;
      ctx.log.info({ agent: turn.agent.id, conversation, reason }, `session rotated: ${words}`);
      ctx.events.publish({
        kind: "agent",
        type: "session:rotated",
        agentId: turn.agent.id,
        ref: turn.id,
        summary: `${turn.agent.id} starts a new session: ${words}`,
        data: { taskId: turn.id, conversation, tier: turn.agent.tier, reason },
      });
    }

    /** By the key and the conditions under which the tier keeps a process for the conversation. */
    function isWarm({ agent, route, messages }: Turn, { session }: TurnContext): boolean {
      const restricted = (messages[0].options?.autonomy ?? "act") !== "act";
      return agent.settings.persistentProcess === true && !restricted && session !== undefined && ctx.warm.has(route.conversation);
    }

    return {
      async start() {
        ctx.jobs.every(HOUR_MS, async () => {
          await memory.forget(Date.now() - FORGET_MS);
          await budget.trim();
        });
      },
      stop: () => memory.settled(),
      async reload(next) {
        limits = next;
      },
    };
  },
});

/** Returns why the turn must not resume the stored session. A follow-up carries the options of the message it follows, and stays in its session. */
function whyFresh(turn: Turn, kept: Kept, limits: SessionSettings): Rotation | undefined {
  if (turn.afresh === true) return { reason: "lost", words: "the engine could not go on with the one it had" };
  if (turn.movedFrom !== undefined) return { reason: "moved", words: `it is on node ${turn.movedFrom}` };
  if (turn.strategy === "planner" || kept.planned) return { reason: "planner", words: "the planner starts each turn anew" };
  if (turn.messages.some(({ entry, options }) => entry !== "followup" && options?.freshSession === true))
    return { reason: "fresh", words: "a new session was asked for" };
  return rotationOf(kept, turn.startedAt, limits);
}

async function* refused(message: string): AsyncGenerator<TierEvent> {
  yield { type: "error", kind: "budget", message };
}
