import type { Approval } from "@svc/sdk";

/** More of a detail is not shown on chat. */
const MOST_SHOWN = 2_500;

/** A time for people. */
export function timeOf(at: number, timezone: string | undefined): string {
  return new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short", ...(timezone === undefined ? {} : { timeZone: timezone }) }).format(at);
}

/** Returns the outcome of a question as the rest of a sentence: `approved by Ann on botmsg, 2026-05-01T10:00:00Z`. */
export function howOf({ state, decision, expiresAt }: Approval): string {
  const at = new Date(decision?.at ?? expiresAt).toISOString();
  if (state === "open" || state === "expired") return `it expired, ${at}, and counts as refused`;
  if (state === "withdrawn") return `it was withdrawn${decision?.reason === undefined ? "" : ` (${decision.reason})`}, ${at}`;
  const choice = decision?.choice === undefined || ["approve", "reject"].includes(decision.choice) ? "" : ` (${decision.choice})`;
  return `${state}${choice} by ${decision?.by ?? "nobody"} on ${decision?.surface ?? "no surface"}, ${at}`;
}

/** A question as it is asked on chat, in markdown. */
export function questionText(question: Approval, timezone: string | undefined): string {
  const { id, title, detail = "", requestedBy, expiresAt, taskId } = question;
  const waits = taskId === undefined ? "" : " A run waits for the answer.";
  return [
    `**Approval needed:** ${plain(title)}`,
    ...(detail === "" ? [] : [fenced(shortened(detail, id))]),
    `Asked by ${plain(requestedBy)}.${waits} No answer by ${timeOf(expiresAt, timezone)} counts as a no. Question \`${id}\`.`,
  ].join("\n\n");
}

/** Notice of a decision for the chats, in markdown. */
export function decidedText(question: Approval): string {
  const { id, title, state, decision } = question;
  const word = { open: "Open", approved: "Approved", rejected: "Rejected", expired: "Expired, and so refused", withdrawn: "No longer needed" }[state];
  const choice =
    decision?.choice === undefined || ["approve", "reject"].includes(decision.choice)
      ? ""
      : ` (${question.choices.find((one) => one.id === decision.choice)?.label ?? decision.choice})`;
  const who = decision?.by === undefined ? "" : ` by ${plain(decision.by)} on ${plain(decision.surface ?? "")}`;
  const why = decision?.reason === undefined ? "" : ` (${plain(decision.reason)})`;
  return `**${word}**${choice}${who}${why}: ${plain(title)} (question \`${id}\`)`;
}

/** Notice of a postponement for the chats, in markdown. */
export const laterText = (at: number, by: string, timezone: string | undefined): string => `**Put off** by ${plain(by)}: asked again ${timeOf(at, timezone)}.`;

/** Notice of a decision for the asking agent. */
export function agentText(question: Approval): string {
  const { id, title, state } = question;
  const next = state === "approved" ? "It is carried out; you need not do it again." : "It is not carried out. Do not try it in another way.";
  return `Your question '${title}' (${id}) is answered: ${howOf(question)}. ${next}`;
}

/** The daily list, in markdown. */
export function digestText(open: readonly Approval[], timezone: string | undefined): string {
  const lines = open.map(
    ({ id, title, requestedBy, expiresAt }) => `- \`${id}\` ${plain(title)}, asked by ${plain(requestedBy)}, until ${timeOf(expiresAt, timezone)}`,
  );
  const count = open.length === 1 ? "One question waits" : `${open.length} questions wait`;
  return [`**${count} for an answer.** Answer with the buttons above or with \`svc approval approve|reject|later <id>\`.`, lines.join("\n")].join("\n\n");
}

function shortened(detail: string, id: string): string {
  if (detail.length <= MOST_SHOWN) return detail;
  return `${detail.slice(0, MOST_SHOWN)}\n[${detail.length - MOST_SHOWN} more characters: read them before you approve, with svc approval list ${id}]`;
}

/** Words of others, which may not look like ours. */
const plain = (words: string): string => words.replace(/[\\`*_[\]()<>~#|!]/g, "\\$&").replace(/\s+/gu, " ");

/** A block that its content cannot end. */
function fenced(content: string): string {
  const longest = Math.max(2, ...[...content.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${content}\n${fence}`;
}
