import type { Approval, ApprovalChoice, ApprovalDecision, ApprovalQuestion, Target } from "@svc/sdk";
import { fail } from "./errors.ts";
import type { ApprovalSettings } from "./settings.ts";
import { decidedText, laterText } from "./words.ts";

/** A chat where a question is asked. */
export type Place = Pick<Target, "channel" | "chat" | "account">;

/** A chat where it was asked, by which delivery. */
export interface Asked extends Place {
  readonly delivery: string;
  /** The place offers choices. */
  readonly choices: boolean;
}

/** Pending work of a question, each at least once: chats to ask, chats to notify, the agent, and the listening plugin. */
export type Owed =
  | { readonly to: "ask"; readonly place: Place }
  | { readonly to: "tell"; readonly asked: Asked; readonly words: string }
  | { readonly to: "agent" }
  | { readonly to: "listener" };

/** A question as it is stored. */
export interface Row extends Approval {
  readonly owed: readonly Owed[];
  /** Where it was asked and stands open. */
  readonly asked: readonly Asked[];
  /** Number of rounds: a postponed question is asked again. */
  readonly round: number;
  /** 1 while it is open or something is owed; found by an index. */
  readonly live: 0 | 1;
  /** When it must be looked at again: it expires, is asked again, or may be forgotten. */
  readonly due: number;
  /** Daemon of the run that waits for the answer. */
  readonly node?: string;
}

const DAY_MS = 86_400_000;
/** Decided questions are kept so long. */
export const KEPT_MS = 30 * DAY_MS;
/** A question that is put off lives so much longer than until it is asked again. */
const GRACE_MS = DAY_MS;
const MOST_TITLE = 300;
const MOST_DETAIL = 100_000;
const CHOICES: readonly ApprovalChoice[] = [
  { id: "approve", label: "Approve" },
  { id: "reject", label: "Reject", rejects: true },
];

/** Makes the row of a question. Throws `SVC_APPROVAL_QUESTION`. */
export function rowOf(question: ApprovalQuestion, settings: ApprovalSettings, places: readonly Place[], now = Date.now()): Row {
  const reason = whyNotAskable(question);
  if (reason !== undefined) throw fail("SVC_APPROVAL_QUESTION", { reason });
  const { expiresMs, askAt, choices = CHOICES, title, ...rest } = question;
  const usual = question.taskId === undefined ? settings.defaultExpiryDays * DAY_MS : settings.permissionMinutes * 60_000;
  const end = now + settings.maxExpiryDays * DAY_MS;
  const soonest = now + Math.max(1, Math.min(expiresMs ?? usual, settings.maxExpiryDays * DAY_MS));
  const laterAt = askAt !== undefined && askAt > now ? Math.min(askAt, end) : undefined;
  const expiresAt = laterAt === undefined ? soonest : Math.max(soonest, Math.min(laterAt + GRACE_MS, end));
  const owed = laterAt === undefined ? places.map((place) => ({ to: "ask", place }) as const) : [];
  const line = title.replace(/\s+/gu, " ").trim();
  const cut = line.length > MOST_TITLE ? `${line.slice(0, MOST_TITLE - 1)}…` : line;
  const put: Row = { ...rest, title: cut, id: newId(), choices, askedAt: now, expiresAt, state: "open", owed, asked: [], round: 1, live: 1, due: expiresAt };
  return laterAt === undefined ? put : withOwed({ ...put, laterAt }, []);
}

function whyNotAskable({ kind, title, detail = "", digest, choices = CHOICES }: ApprovalQuestion): string | undefined {
  if (!/^[a-z][a-z0-9.-]{0,39}$/.test(kind)) return `its kind '${kind}' is not a word of lower-case letters, digits, '-' and '.'`;
  if (title.trim() === "") return "it has no title";
  if (digest === "") return "it has no digest of the action";
  if (detail.length > MOST_DETAIL) return `its detail is longer than ${MOST_DETAIL} characters, and nobody may approve what cannot be shown`;
  if (choices.length < 1 || choices.length > 7) return "it needs one to seven choices";
  const wrong = choices.find(({ id, label }) => !/^[a-z0-9._-]{1,16}$/.test(id) || id === "later" || label === "");
  if (wrong !== undefined) return `its choice '${wrong.id}' is not of 1 to 16 lower-case letters, digits, '.', '_' and '-', has no label, or is 'later'`;
  return new Set(choices.map(({ id }) => id)).size < choices.length ? "two of its choices have one id" : undefined;
}

const LETTERS = "abcdefghijkmnopqrstuvwxyz23456789";

/** Short enough to be typed; that it is new is for the store to say. */
function newId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => LETTERS[byte % LETTERS.length]).join("");
}

/** The row once it is decided: the chats, the agent and the listening plugin are to be told. */
export function decidedRow(row: Row, end: Pick<ApprovalDecision, "state" | "choice" | "by" | "surface" | "reason">, settings: ApprovalSettings): Row {
  const { id, kind, digest, key, agent, taskId } = row;
  const decision: ApprovalDecision = { id, kind, digest, ...(key === undefined ? {} : { key }), ...end, at: Date.now() };
  const decided: Row = { ...row, state: end.state, decision };
  const owed: Owed[] = tellAll(row, decidedText(decided));
  if (taskId === undefined) {
    if (agent !== undefined && settings.notifyAgent && end.state !== "withdrawn") owed.push({ to: "agent" });
    owed.push({ to: "listener" });
  }
  return withOwed({ ...decided, asked: [] }, owed);
}

/** The row put off. It lives on a little longer than until it is asked again, as far as `maxExpiryDays` allows. */
export function laterRow(row: Row, ms: number, by: string, { maxExpiryDays, digest }: ApprovalSettings): Row {
  const end = row.askedAt + maxExpiryDays * DAY_MS;
  const laterAt = Math.min(Date.now() + ms, end);
  const expiresAt = Math.max(row.expiresAt, Math.min(laterAt + GRACE_MS, end));
  return withOwed({ ...row, laterAt, expiresAt, asked: [] }, tellAll(row, laterText(laterAt, by, digest.timezone)));
}

/** The row asked again in these chats, now that it was put off long enough. */
export function againRow({ laterAt: _, ...row }: Row, places: readonly Place[]): Row {
  return withOwed(
    { ...row, round: row.round + 1 },
    places.map((place) => ({ to: "ask", place })),
  );
}

/** The row asked once more in a chat that could not be reached for so long that the question was given up there. */
export function lostRow(row: Row, { delivery, choices: _, ...place }: Asked): Row | undefined {
  if (row.state !== "open" || !row.asked.some((one) => one.delivery === delivery)) return undefined;
  const asked = row.asked.filter((one) => one.delivery !== delivery);
  return withOwed({ ...row, asked, round: row.round + 1 }, [...row.owed, { to: "ask", place }]);
}

/** The row without a thing that was owed. `asked`: what was sent for it. A chat that was asked too late is told so at once. */
export function paidRow(row: Row, done: Owed, asked?: Asked): Row {
  const left = row.owed.filter((owed) => JSON.stringify(owed) !== JSON.stringify(done));
  if (asked === undefined) return withOwed(row, left);
  if (row.state === "open" && row.laterAt === undefined) return withOwed({ ...row, asked: [...row.asked, asked] }, left);
  return withOwed(row, [...left, { to: "tell", asked, words: row.state === "open" ? "Put off." : decidedText(row) }]);
}

const tellAll = ({ asked }: Row, words: string): Owed[] => asked.map((one) => ({ to: "tell", asked: one, words }));

function withOwed(row: Row, owed: readonly Owed[]): Row {
  const open = row.state === "open";
  const due = open ? Math.min(row.expiresAt, row.laterAt ?? row.expiresAt) : (row.decision?.at ?? 0) + KEPT_MS;
  return { ...row, owed, live: open || owed.length > 0 ? 1 : 0, due };
}

/** One chat. */
export const samePlace = (one: Place, two: Place): boolean => one.channel === two.channel && one.chat === two.chat && one.account === two.account;

/** Returns the public part of a row. */
export function shown({ owed: _owed, asked: _asked, round: _round, live: _live, due: _due, node: _node, ...approval }: Row): Approval {
  return approval;
}
