import type { Run, RunState } from "./rows.ts";

const SHOWN_STEPS = 12;
const STEP_CHARS = 100;

const STATES: Readonly<Record<RunState, string>> = {
  accepting: "accepted",
  accepted: "accepted",
  working: "working",
  waiting: "waiting",
  answered: "answered",
  silent: "nothing to say",
  failed: "failed",
  stopped: "stopped",
};

/** The first line of a status comment: **agent** · working · 3 steps · 1 min 20 s. */
export function headLine({ agent, state, stepCount, startedAt, endedAt, stoppedBy }: Run, now: number): string {
  const ms = startedAt === undefined ? 0 : (endedAt ?? now) - startedAt;
  const parts = [
    `**${agent}**`,
    state === "stopped" && stoppedBy !== undefined ? `stopped by ${stoppedBy}` : STATES[state],
    ...(stepCount === 0 ? [] : [`${stepCount} ${stepCount === 1 ? "step" : "steps"}`]),
    ...(ms < 1_000 ? [] : [duration(ms)]),
  ];
  return parts.join(" · ");
}

/** The comment while the agent works: its steps, the older ones folded. */
export function workingText(run: Run, now: number): string {
  const { steps, stepCount } = run;
  const shown = steps.slice(-SHOWN_STEPS);
  const older = stepCount - shown.length;
  return [
    headLine(run, now),
    ...(older > 0 ? [`- [x] … ${older} earlier`] : []),
    ...shown.map(({ name, done }) => `- [${done ? "x" : " "}] ${code(name)}`),
  ].join("\n");
}

/** A name as a span of code on one line. */
const code = (name: string): string => `\`${name.replaceAll(/[`\r\n]/g, "'").slice(0, STEP_CHARS)}\``;

/** Seconds, minutes and seconds, hours and minutes. */
function duration(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Throttle of a status comment: pause before the next edit is 5 s, after 2 minutes 15 s, after half an hour a minute. */
export function editPause(ageMs: number): number {
  if (ageMs < 120_000) return 5_000;
  return ageMs < 1_800_000 ? 15_000 : 60_000;
}
