import { errorTable } from "@svc/sdk";

/** Every refusal of this plugin: code, HTTP status, and the words that the agent reads. */
export const ERRORS = {
  SVC_AGENT_ACTION_REPORT: [403, "The action {action} was not run: this run may look and report, and change nothing. Say in your answer what should be done."],
  SVC_AGENT_ACTION_UNASKED: [
    403,
    "The action {action} was not run: this run may only propose it, and there is no section approvals in svc.json by which a person could be asked.",
  ],
  SVC_AGENT_ACTION_REFUSED: [403, "The action {action} was not run: a person was asked, and the answer is '{state}'."],
  SVC_AGENT_ACTION_FAILED: [502, "{reason}"],
  SVC_AGENT_CALLS_MANY: [503, "{count} calls of agent {agent} are under way, as many as may be; wait for one of them."],
  SVC_AGENT_CALL_UNKNOWN: [404, "There is no call '{call}' in this conversation. Use the id as it was answered; results are kept for 7 days."],
  SVC_AGENT_CALL_LOST: [
    409,
    "The daemon was restarted while {action} ran: whether it was done is not known. Look at what it has changed before you call it again.",
  ],
} as const satisfies Readonly<Record<string, readonly [status: number, message: string]>>;

/** Makes one. */
export const fail = errorTable(ERRORS);
