import { errorTable } from "@svc/sdk";

/** Errors of the dashboard: code to [HTTP status, message]. `{name}` is filled from the facts. */
export const ERRORS = {
  SVC_DASHBOARD_NO_DAEMON: [502, "The daemon at {url} cannot be reached: {reason}."],
  SVC_DASHBOARD_REFUSED: [502, "The daemon at {url} refuses this dashboard (it answered {answered}); set its token in dashboard.daemons."],
  SVC_DASHBOARD_REFUSED_THERE: [502, "The dashboard of {name} at {url} does not take our token for it; set dashboardToken of its entry in dashboard.daemons."],
  SVC_DASHBOARD_DAEMON_UNKNOWN: [400, "There is no daemon '{daemon}' in dashboard.daemons; nothing was sent."],
  SVC_DASHBOARD_LINK: [403, "This sign-in link was used already, or is older than 10 minutes; make another with svc dashboard --link."],
  SVC_DASHBOARD_CLOSED: [409, "The dashboard does not listen: its port is taken, see svc daemon logs and dashboard.port."],
  SVC_DASHBOARD_NODE: [400, "'{node}' is neither dashboard.daemonUrl nor the url of one of dashboard.daemons; nothing was sent there."],
  SVC_DASHBOARD_AGENT_UNKNOWN: [404, "There is no agent '{agent}'."],
  SVC_DASHBOARD_AGENT_PRIVATE: [403, "Agent {agent} is private; only an agent with access 'public' takes messages here."],
  SVC_DASHBOARD_TASK_UNKNOWN: [404, "No task '{task}' is running or waiting."],
  SVC_DASHBOARD_TRACE_UNKNOWN: [404, "There is no task '{task}': it never was, or its trace is not kept any more (retention.traceDays)."],
  SVC_DASHBOARD_TICKET: [400, "A ticket stands for a token: send the token itself, in the header Authorization: Bearer."],
  SVC_DASHBOARD_FORBIDDEN: [403, "The token does not allow this; the scope dashboard:write is needed."],
  SVC_DASHBOARD_NOT_FOUND: [404, "There is no {method} {target} here."],
  SVC_DASHBOARD_UNBUILT: [500, "The pages are not in {folder}: install the package anew, or run npm run build where svc is built from its sources."],
  SVC_DASHBOARD_SETUP_TERMINAL: [409, "The set-up of {channel} runs in a terminal on the daemon's machine: svc connect {channel}."],
  SVC_DASHBOARD_SETUP_UNKNOWN: [404, "This set-up has ended, or the daemon was restarted; nothing was written. Begin again."],
  SVC_DASHBOARD_SETUP_ANSWERED: [409, "This question was answered already."],
  SVC_DASHBOARD_MESSAGE: [400, "A follow-up needs a 'message'."],
} as const satisfies Record<string, readonly [status: number, message: string]>;

/** Makes the error of a code, its message filled from the facts. */
export const fail = errorTable(ERRORS);
