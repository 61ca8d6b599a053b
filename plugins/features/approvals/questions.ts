import type { ApprovalDecision, Approvals, PluginContext } from "@svc/sdk";
import { fail } from "./errors.ts";
import type { Places } from "./places.ts";
import { createQuestionStore, type QuestionStore } from "./question-store.ts";
import { decidedRow, laterRow, type Row, rowOf, shown } from "./row.ts";
import type { ApprovalSettings } from "./settings.ts";
import { createWaiting } from "./waiting.ts";
import { howOf } from "./words.ts";

/** Dependencies of the questions. */
export interface QuestionDeps {
  readonly ctx: Pick<PluginContext, "store" | "events" | "log" | "node">;
  readonly places: Pick<Places, "asked">;
  settings(): ApprovalSettings;
  /** A row has been written. */
  changed(row: Row): void;
}

/** Stored questions, and the operations on them. */
export interface Questions extends Omit<Approvals, "onDecided" | "list">, Omit<QuestionStore, "add"> {
  recheck(): Promise<void>;
}

const HOUR_MS = 3_600_000;

/** The questions in the plugin's store. */
export function createQuestions({ ctx, places, settings, changed }: QuestionDeps): Questions {
  const store = createQuestionStore(ctx, (row, before) => {
    if (row.decision !== undefined) waiting.decided(row.decision);
    changed(row);
    const type =
      before === undefined ? "asked" : before.state !== row.state ? "decided" : before.laterAt === undefined && row.laterAt !== undefined ? "later" : "";
    if (type !== "") publish(ctx.events, type, row);
  });
  const waiting = createWaiting(store.row);

  const known = async (id: string, change: (row: Row) => Row): Promise<Row> => {
    const row = await store.update(id, change);
    if (row === undefined) throw fail("SVC_APPROVAL_UNKNOWN", { id });
    return row;
  };

  return {
    ...store,
    ...waiting,
    async ask(question) {
      for (;;) {
        const asked = rowOf(question, settings(), places.asked(question.destination));
        const row = question.taskId === undefined ? asked : { ...asked, node: ctx.node.id };
        const before = question.key === undefined ? undefined : await store.keyed(question.key);
        if (before?.digest === question.digest) return { id: before.id };
        const gone = before?.state === "open" ? decidedRow(before, { state: "withdrawn", reason: "what it asks about has changed" }, settings()) : undefined;
        if (await store.add(row, before, gone)) return { id: row.id };
      }
    },
    async get(id) {
      const row = await store.row(id);
      return row && shown(row);
    },
    async decide(id, choice, { by, surface }) {
      const row = await known(id, (open) => {
        mustBeOpen(open);
        const chosen = open.choices.find((one) => one.id === choice);
        if (chosen === undefined) throw fail("SVC_APPROVAL_CHOICE", { id, choice, choices: open.choices.map((one) => one.id).join(", ") });
        return decidedRow(open, { state: chosen.rejects ? "rejected" : "approved", choice, by, surface }, settings());
      });
      return row.decision as ApprovalDecision;
    },
    async later(id, ms = settings().laterHours * HOUR_MS, { by }) {
      const row = await known(id, (open) => {
        mustBeOpen(open);
        if (open.taskId !== undefined) throw fail("SVC_APPROVAL_RUN", { id });
        return laterRow(open, ms, by, settings());
      });
      return shown(row);
    },
    async withdraw(id, reason) {
      let withdrawn = false;
      await store.update(id, (row) => {
        withdrawn = row.state === "open";
        return withdrawn ? decidedRow(row, { state: "withdrawn", reason }, settings()) : undefined;
      });
      return withdrawn;
    },
    async digest(action) {
      const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(canonical(action)));
      return Buffer.from(bytes).toString("hex");
    },
  };
}

/** Throws unless the row still waits for an answer. */
function mustBeOpen(row: Row): void {
  const { id, state, decision, expiresAt } = row;
  if (state === "open" && Date.now() < expiresAt) return;
  const facts = { id, how: howOf(row), state: state === "open" ? "expired" : state, at: decision?.at ?? expiresAt };
  if (state === "approved" || state === "rejected") throw fail("SVC_APPROVAL_DECIDED", { ...facts, by: decision?.by, surface: decision?.surface });
  throw fail("SVC_APPROVAL_OVER", facts);
}

/** Tells the bus what happened, without the words of the question. */
function publish(events: PluginContext["events"], type: string, { id, kind, agent, state, decision }: Row): void {
  const how = decision?.surface === undefined ? "" : ` on ${decision.surface}`;
  events.publish({
    kind: "approval",
    type: `approval:${type}`,
    summary: `question ${id} (${kind}) ${type === "decided" ? `is ${state}${how}` : type === "later" ? "is put off" : "is asked"}`,
    ref: id,
    ...(agent === undefined ? {} : { agentId: agent }),
    data: { question: id, kind, state, ...(decision?.surface === undefined ? {} : { surface: decision.surface }) },
  });
}

/** JSON in which the order of keys does not matter. */
function canonical(action: unknown): string {
  const sorted = (_key: string, value: unknown): unknown =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([one], [two]) => (one < two ? -1 : 1)))
      : value;
  return JSON.stringify(action, sorted) ?? "undefined";
}
