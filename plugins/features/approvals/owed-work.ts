import { type ApprovalDecision, codeOf, type PluginContext, reasonOf } from "@svc/sdk";
import type { Places } from "./places.ts";
import type { Questions } from "./questions.ts";
import { lostRow, type Owed, paidRow, type Row, shown } from "./row.ts";
import type { ApprovalSettings } from "./settings.ts";
import { agentText, questionText } from "./words.ts";

/** Listeners for decisions, by the kind of their questions. */
export type Listeners = ReadonlyMap<string, (decision: ApprovalDecision) => Promise<void>>;

/** Dependencies of the pending work. */
export interface OwedWorkDeps {
  readonly ctx: Pick<PluginContext, "agents" | "log" | "tasks">;
  readonly questions: Pick<Questions, "row" | "update">;
  readonly places: Places;
  readonly listeners: Listeners;
  settings(): ApprovalSettings;
}

/** Does what rows owe: asks in chats, tells decisions there, tells the agent, hands decisions to plugins. Each at least once. */
export interface OwedWork {
  /** Does what the row owes, unless it is being done or has just failed. Never rejects. */
  work(id: string): Promise<void>;
  /** When the next of what failed is tried again. */
  nextTry(): number | undefined;
  /** Forgets what failed of all other questions: nothing is owed of them any more, and nothing is tried again. */
  keep(live: ReadonlySet<string>): void;
}

const FIRST_MS = 1_000;
const LONGEST_MS = 60_000;
/** Chats show a question as important. */
const PRIORITY = 4;
const LABEL_CHARS = 64;

/** Executes the stored pending work; only the pauses between retries are in memory. */
export function createOwedWork({ ctx, questions, places, listeners, settings }: OwedWorkDeps): OwedWork {
  const busy = new Map<string, { again: boolean }>();
  const failed = new Map<string, { readonly tries: number; readonly at: number }>();

  /** Asks in a chat. The button's payload names the question, so that an answer is recognised after any restart. */
  async function ask(row: Row, place: Extract<Owed, { to: "ask" }>["place"]): Promise<void> {
    const { id, choices, taskId, agent, expiresAt } = row;
    const choosers = places.choosers(place);
    const offered = [
      ...choices.map((choice) => ({ id: choice.id, label: choice.label.slice(0, LABEL_CHARS) })),
      ...(taskId === undefined ? [{ id: "later", label: "Later" }] : []),
    ];
    const delivered = await ctx.tasks.deliver({
      kind: "notice",
      target: place,
      // Killed before its id was noted, it is not sent again.
      key: `approvals/${id}/${row.round}/${JSON.stringify(place)}`,
      text: questionText(row, settings().digest.timezone),
      title: "Approval needed",
      priority: PRIORITY,
      ...(agent === undefined ? {} : { agent }),
      ...(choosers?.length === 0
        ? {}
        : { choices: offered.map((one) => ({ ...one, id: `${id}.${one.id}` })), choicesUntil: expiresAt, ...(choosers === undefined ? {} : { choosers }) }),
    });
    const asked = { ...place, delivery: delivered.id, choices: choosers?.length !== 0 };
    await questions.update(id, (now) => paidRow(now, { to: "ask", place }, asked));
    delivered.sent.catch((error) => {
      if (codeOf(error) === "SVC_DELIVERY_EXPIRED") void questions.update(id, (now) => lostRow(now, asked)).catch(() => {});
    });
  }

  async function tell({ asked: { delivery, choices, ...place }, words }: Extract<Owed, { to: "tell" }>): Promise<void> {
    if (choices) {
      // False when that was done before, and only not noted.
      await ctx.tasks.closeChoices(delivery, words);
      return;
    }
    const { sent } = await ctx.tasks.deliver({ kind: "notice", target: place, text: words, key: `approvals/told/${delivery}` });
    sent.catch(() => {});
  }

  async function tellAgent(row: Row): Promise<void> {
    const { agent = "", id } = row;
    if (ctx.agents.get(agent) === undefined) return ctx.log.info({ question: id, agent }, "the agent that asked is gone; it is not told the decision");
    await ctx.tasks.accept({ entry: "approval", channel: "approvals", chat: agent, agent, text: agentText(shown(row)), dedupKey: `approval:${id}` });
  }

  /** False when it can only be done later. */
  async function pay(row: Row, owed: Owed): Promise<boolean> {
    if (owed.to === "ask") {
      await ask(row, owed.place);
      return true;
    }
    if (owed.to === "tell") await tell(owed);
    else if (owed.to === "agent") await tellAgent(row);
    else {
      const hear = listeners.get(row.kind);
      if (hear === undefined) return false;
      await hear(row.decision as ApprovalDecision);
    }
    await questions.update(row.id, (now) => paidRow(now, owed));
    return true;
  }

  async function once(id: string): Promise<void> {
    const owes = (await questions.row(id))?.owed ?? [];
    let trouble: unknown;
    for (const owed of owes) {
      try {
        const row = await questions.row(id);
        // Decided or put off meanwhile: it owes something else.
        if (row?.owed.some((one) => JSON.stringify(one) === JSON.stringify(owed)) === true) await pay(row, owed);
      } catch (error) {
        trouble ??= error;
        if (codeOf(error) !== "SVC_DAEMON_DRAINING")
          ctx.log.warn({ question: id, step: owed.to, reason: reasonOf(error) }, "a step of a question failed; it is tried again");
      }
    }
    if (trouble === undefined) failed.delete(id);
    else {
      const tries = (failed.get(id)?.tries ?? 0) + 1;
      failed.set(id, { tries, at: Date.now() + Math.min(LONGEST_MS, FIRST_MS * 2 ** (tries - 1)) });
    }
  }

  return {
    async work(id) {
      const under = busy.get(id);
      if (under !== undefined) {
        under.again = true;
        return;
      }
      if ((failed.get(id)?.at ?? 0) > Date.now()) return;
      const state = { again: false };
      busy.set(id, state);
      try {
        do {
          state.again = false;
          await once(id);
        } while (state.again && !failed.has(id));
      } catch (error) {
        ctx.log.warn({ question: id, reason: reasonOf(error) }, "a question could not be read; it is tried again");
        failed.set(id, { tries: 1, at: Date.now() + LONGEST_MS });
      } finally {
        busy.delete(id);
      }
    },
    nextTry: () => (failed.size === 0 ? undefined : Math.min(...[...failed.values()].map(({ at }) => at))),
    keep(live) {
      for (const id of failed.keys()) if (!live.has(id)) failed.delete(id);
    },
  };
}
