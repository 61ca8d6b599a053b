import type { Approval, ApprovalAnswerer, ApprovalDecision, Approvals, Envelope, Inbound, PluginContext, Rejection } from "@svc/sdk";
import { takeChatAnswer } from "./chat-answers.ts";
import { sendDigest } from "./daily-digest.ts";
import { fail } from "./errors.ts";
import { createOwedWork, type Listeners } from "./owed-work.ts";
import { createPlaces } from "./places.ts";
import type { QuestionStore } from "./question-store.ts";
import { createQuestions } from "./questions.ts";
import { againRow, decidedRow, type Row } from "./row.ts";
import type { ApprovalSettings } from "./settings.ts";
import { waitForAgent } from "./wait-tool.ts";
import { createWithheldQuestions, DELIVERY } from "./withheld.ts";

/** All of the approvals, once something of them is needed. */
export interface Opened extends Omit<Approvals, "onDecided"> {
  /** Part of all questions. */
  page: QuestionStore["page"];
  /** As `get`; throws `SVC_APPROVAL_UNKNOWN`. */
  known(id: string): Promise<Approval>;
  /** Answers with the choice, else with the first one that approves or rejects. */
  answer(id: string, approves: boolean, choice: string | undefined, answerer: ApprovalAnswerer): Promise<ApprovalDecision>;
  chatAnswer(message: Inbound): Promise<Rejection | undefined>;
  /** Plans the daily list by the settings. Only where questions have been asked: a start without any loads no clock for it. */
  planDigest(): void;
  waitForAgent(given: Parameters<typeof waitForAgent>[1]): Promise<string>;
  /** After the start: asks about what was withheld meanwhile, if anything is. */
  resume(withheld: boolean): Promise<void>;
  /** A delivery was withheld, or one that was is decided. */
  withheld(envelope: Envelope): Promise<void>;
  /** Another plugin listens for decisions. */
  listens(): Promise<void>;
}

/** Longest pause between two looks at the clock, which may jump while the machine sleeps. */
const LOOK_MS = 60_000;
/** The same while nothing is open. */
const REST_MS = 60 * LOOK_MS;
/** Another daemon's answer, as a chat that it serves gives it, is looked for so often while a run waits. */
const OTHERS_MS = 1_000;
const NEVER = Number.POSITIVE_INFINITY;

/**
 * Opens the stored questions. What a killed daemon left is taken up: questions of its runs are withdrawn, and what was owed is done. Looks
 * at the clock from then on, as long as something is open.
 */
export async function openApprovals(
  ctx: PluginContext<ApprovalSettings>,
  settings: () => ApprovalSettings,
  listeners: Map<string, Parameters<Approvals["onDecided"]>[1]>,
): Promise<Opened> {
  const places = createPlaces(ctx.services, settings);
  const questions = createQuestions({
    ctx,
    places,
    settings,
    changed(row) {
      if (row.live === 1) void owed.work(row.id).then(arm);
    },
  });
  const owed = createOwedWork({ ctx, questions, places, listeners: listeners as Listeners, settings });
  const withheld = createWithheldQuestions(ctx, questions);
  listeners.set(DELIVERY, withheld.carryOut);
  let timer: { readonly at: number; stop(): void } | undefined;
  let looking: Promise<void> | undefined;

  /** Questions of runs of this daemon: only it knows which of them go on. Of one that does not come back they expire. */
  const isWaitedForHere = ({ state, taskId, node = ctx.node.id }: Row) =>
    state === "open" && taskId !== undefined && (ctx.store.shared !== true || node === ctx.node.id);

  /** Sets the timer to the next moment at which something is to be done. Never rejects. */
  async function arm(): Promise<void> {
    try {
      const [due = NEVER, live] = [await questions.nextDue(), await questions.anyLive()];
      const now = Date.now();
      const next = Math.min(due, owed.nextTry() ?? NEVER, live ? now + LOOK_MS : NEVER);
      if (next === NEVER || (timer !== undefined && timer.at <= next && timer.at > now)) return;
      lookAt(Math.min(next, now + REST_MS));
    } catch (error) {
      if (!ctx.signal.aborted) lookAt(Date.now() + LOOK_MS, error);
    }
  }

  function lookAt(at: number, error?: unknown): void {
    if (error !== undefined) ctx.log.error({ err: error }, "questions could not be looked through; tried again within a minute");
    timer?.stop();
    timer = { at, stop: ctx.jobs.after(Math.max(at - Date.now(), 10), () => void look()) };
  }

  function look(): Promise<void> {
    looking ??= lookOnce().finally(() => {
      looking = undefined;
    });
    return looking;
  }

  async function lookOnce(): Promise<void> {
    timer?.stop();
    timer = undefined;
    try {
      const now = Date.now();
      for (const row of await questions.due(now)) {
        if (row.state !== "open") {
          await questions.forget(row);
          continue;
        }
        await questions.update(row.id, (open) => {
          if (open.state !== "open") return undefined;
          if (open.expiresAt <= now) return decidedRow(open, { state: "expired" }, settings());
          return open.laterAt !== undefined && open.laterAt <= now ? againRow(open, places.asked(open.destination)) : undefined;
        });
      }
      const running = new Set(ctx.tasks.running().map(({ id }) => id));
      const live = await questions.live();
      // Given up, or done by another daemon: its next try would be due at once, for ever.
      owed.keep(new Set(live.map(({ id }) => id)));
      for (const row of live) {
        if (isWaitedForHere(row) && !running.has(row.taskId ?? "")) await questions.withdraw(row.id, "its run has ended");
        void owed.work(row.id).then(arm);
      }
      await questions.recheck();
    } catch (error) {
      if (!ctx.signal.aborted) lookAt(Date.now() + LOOK_MS, error);
      return;
    }
    await arm();
  }

  let endDigest = () => {};
  function planDigest(): void {
    endDigest();
    const { enabled, time, timezone = Intl.DateTimeFormat().resolvedOptions().timeZone } = settings().digest;
    const [hour, minute] = time.split(":").map(Number);
    const send = () => sendDigest(ctx, questions, places, settings());
    endDigest = enabled ? ctx.jobs.cron("digest", `${minute} ${hour} * * *`, timezone, send) : () => {};
  }

  planDigest();
  if (ctx.store.shared === true) ctx.jobs.every(OTHERS_MS, () => questions.recheck());
  for (const row of await questions.live()) if (isWaitedForHere(row)) await questions.withdraw(row.id, "the daemon was restarted, and its run was interrupted");
  await look();
  const opened: Opened = Object.assign(questions, {
    chatAnswer: (message: Inbound) => takeChatAnswer(message, { ctx, questions, places }),
    planDigest,
    waitForAgent: (given: Parameters<typeof waitForAgent>[1]) => waitForAgent(questions, given),
    async known(id: string) {
      const approval = await questions.get(id);
      if (approval === undefined) throw fail("SVC_APPROVAL_UNKNOWN", { id });
      return approval;
    },
    async answer(id: string, approves: boolean, choice: string | undefined, answerer: ApprovalAnswerer) {
      const { choices } = await opened.known(id);
      const fitting = choices.filter(({ rejects = false }) => rejects !== approves);
      const chosen = fitting.find((one) => choice === undefined || one.id === choice);
      if (chosen === undefined)
        throw fail("SVC_APPROVAL_CHOICE", { id, choice: choice ?? (approves ? "approve" : "reject"), choices: fitting.map((one) => one.id).join(", ") });
      return questions.decide(id, chosen.id, answerer);
    },
    resume: async (some: boolean) => (some ? withheld.askAll() : undefined),
    async withheld(envelope: Envelope) {
      if (envelope.type === "delivery:withheld") await withheld.askAll();
      else await withheld.decidedElsewhere(envelope);
    },
    listens: look,
  });
  return opened;
}
