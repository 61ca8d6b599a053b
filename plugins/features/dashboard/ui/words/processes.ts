/** `first`, `second`, `third`, `4th`. */
export function nth(number: number): string {
  const words = ["first", "second", "third", "fourth", "fifth"];
  if (number <= words.length) return words[number - 1] as string;
  const end = number % 100 > 10 && number % 100 < 14 ? "th" : ({ 1: "st", 2: "nd", 3: "rd" }[number % 10] ?? "th");
  return `${number}${end}`;
}

/** Origin of a run, by the kind of its entry. */
const ENTRIES: Readonly<Record<string, string>> = {
  api: "by hand",
  cli: "on the command line",
  webhook: "webhook",
  cron: "schedule",
  match: "message",
  action: "action",
  agent: "agent",
  a2a: "another agent",
  sub: "another run",
  replay: "replay",
};

/** Sentences of the processes. */
export const PROCESSES = {
  title: "Processes",
  what: "The runs",
  oneRun: "The run",
  runs: "Runs",
  all: "All",
  open: "Open",
  failed: "Failed",
  filter: "Filter runs",
  filterBy: "Which runs",
  none: "No runs yet. A run starts by a webhook, a schedule, or by hand.",
  noneOpen: "No run is open.",
  noneFailed: "No run has failed.",
  runOne: "Run a workflow...",
  off: "Workflows are switched off: svc.json has no section `workflows`, or `workflows.enabled` is false. To install them: svc plugin add workflows.",
  openSetting: "Open the setting",
  choose: "Choose a run to see its steps.",
  fresh: (count: number) => `${count} new`,
  more: "Reading more runs...",
  state: "State",
  at: (place: string) => `at “${place}”`,
  failedAt: (place: string) => `failed at “${place}”`,
  version: "Version",
  versionNow: (hash: string) => `now ${hash}`,
  versionGone: "the workflow is gone",
  startedBy: "Started by",
  entry: (kind: string, ref: string | undefined) => `${ENTRIES[kind] ?? kind}${ref === undefined ? "" : ` ${ref}`}`,
  started: "Started",
  took: "Took",
  parent: "Parent",
  children: "Sub-processes",
  restartOf: "Restart of",
  restarts: "Restarted as",
  reason: "Why",
  timeline: "Timeline",
  steps: (count: number) => (count === 1 ? "1 step" : `${count} steps`),
  step: "Step",
  tries: "Try",
  graph: "Graph",
  hideGraph: "Hide the graph",
  showGraph: "Show the graph",
  item: (number: number) => `item ${number}`,
  visit: (number: number) => `visit ${number}`,
  skipped: "not taken",
  skippedWhy: "No token came here: the run took another way.",
  toPort: (port: string) => `to ${port}`,
  canceledBy: "the run went on, or ended, without it",
  ready: "begins next",
  tryOf: (attempt: number, most: number | undefined) => (most === undefined || most < attempt ? `try ${attempt}` : `try ${attempt} of ${most}`),
  noStep: "Choose a step to see what went in and what came out.",
  stepWhat: "The step",
  input: "Input",
  output: "Output",
  noInput: "None: this kind of node is given nothing.",
  noInputYet: "None yet: the step has not begun.",
  noOutputFailed: "None: the step failed.",
  noOutputCanceled: "None: the step was cancelled.",
  noOutputYet: "None yet.",
  earlier: "Earlier tries",
  tryFailed: (attempt: number) => `Try ${attempt} failed`,
  key: "Key",
  once: "The result is recorded once; the work is started at least once, under this key.",
  task: "Task",
  openTask: "Open the task",
  tasksOfRun: "Tasks of this run",
  answerIt: "Answer it in the inbox",
  openRequest: "Open the request",
  child: "Sub-process",
  details: "Details",
  restartHere: "Restart here",
  restart: "Restart",
  restartTitle: (step: string) => `Restart at ${step}?`,
  restartText: (step: string, time: string) => `Earlier steps keep their results. ${step} runs a ${time} time; its effect may happen again.`,
  restartNew: "A new run is made; this one stays as it is.",
  restartPinned: (hash: string) => `With the version of this run (${hash})`,
  restartCurrent: (hash: string) => `With the version of now (${hash})`,
  restartVersion: "Which version",
  restarted: "Restarted",
  pause: "Pause",
  paused: "Paused. Running steps finish; nothing new starts.",
  resume: "Resume",
  resumed: "The run goes on",
  cancelRun: "Cancel run",
  cancelTitle: "Cancel this run?",
  cancelText: "What runs is stopped, open requests and sub-processes are closed. The timeline stays. A cancelled run cannot be resumed, only restarted.",
  cancelReason: "Reason (optional)",
  cancelled: "The run is cancelled",
  notDone: "That was not done",
  undo: "Undo",
  liveOnly: "Only a running run can be paused.",
  keys: {
    scope: "Processes",
    failed: "The failed step",
    restart: "Restart at the step",
    graph: "Show or hide the graph",
    next: "Next run",
    previous: "Previous run",
    filter: "Filter runs",
  },
} as const;

/** Describes a wait, by its kind; `who` and `until` if they are known. */
export function waitText(kind: string, what = "", { until, who }: { readonly until?: string | undefined; readonly who?: string | undefined } = {}): string {
  const end = until === undefined ? "" : `, until ${until}`;
  switch (kind) {
    case "timer":
      return until === undefined ? "waits for a time" : `waits until ${until}`;
    case "task":
      return `waits for ${who ?? "a person"}${end}`;
    case "incident":
      return `waits for a decision${who === undefined ? "" : ` by ${who}`}: it cannot go on by itself${end}`;
    case "signal":
      return `waits for the signal ${what}${end}`;
    case "child":
      return `waits for the run ${what}${end}`;
    case "items":
      return `waits for its items${end}`;
    case "retry":
      return until === undefined ? "tries again" : `tries again ${until}`;
    default:
      return `is at work${end}`;
  }
}
