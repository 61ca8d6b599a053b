import type { ReactElement } from "react";
import { PRESENCES, STATES } from "../words/states.ts";
import { classes } from "./class-names.ts";

/** A state of a task, run, step or delivery. */
export type State = keyof typeof STATES;

const SHAPES: Readonly<Record<State, ReactElement>> = {
  ok: (
    <>
      <circle cx="7" cy="7" r="5.75" />
      <path d="M4.4 7.2l1.9 1.9 3.4-3.8" />
    </>
  ),
  running: (
    <>
      <circle className="kit-glyph-track" cx="7" cy="7" r="5.5" />
      <path d="M7 1.5A5.5 5.5 0 0 1 12.5 7" />
    </>
  ),
  waiting: (
    <>
      <circle cx="7" cy="7" r="5.75" />
      <path d="M7 3.8V7l2.2 1.4" />
    </>
  ),
  failed: (
    <>
      <path className="kit-glyph-filled" d="M4.4.8h5.2l3.6 3.6v5.2l-3.6 3.6H4.4L.8 9.6V4.4z" />
      <path className="kit-glyph-on" d="M4.9 4.9l4.2 4.2M9.1 4.9 4.9 9.1" />
    </>
  ),
  "timed-out": <path d="M3 1.5h8M3 12.5h8M3.8 1.5c0 3 2 4 3.2 5.5C5.8 8.5 3.8 9.5 3.8 12.5M10.2 1.5c0 3-2 4-3.2 5.5 1.2 1.5 3.2 2.5 3.2 5.5" />,
  paused: (
    <>
      <path className="kit-glyph-wide" d="M4.5 2.5v9M9.5 2.5v9" />
    </>
  ),
  cancelled: (
    <>
      <circle cx="7" cy="7" r="5.75" />
      <path d="M3.2 10.8l7.6-7.6" />
    </>
  ),
  queued: <circle className="kit-glyph-dotted" cx="7" cy="7" r="5.5" />,
  skipped: <path className="kit-glyph-dashed" d="M1 7h12" />,
};

const ALIASES: Readonly<Record<string, State>> = {
  completed: "ok",
  done: "ok",
  succeeded: "ok",
  success: "ok",
  "in-flight": "running",
  active: "running",
  error: "failed",
  timeout: "timed-out",
  timedOut: "timed-out",
  canceled: "cancelled",
  pending: "queued",
  parked: "waiting",
  open: "waiting",
};

/** Returns the state of a word of the API; an unknown one counts as waiting. */
export const stateOf = (word: string): State => (word in SHAPES ? (word as State) : (ALIASES[word] ?? "waiting"));

/** A state as shape, colour and word. The word stands beside it with `word`, else only those who hear the page get it. */
export function Glyph({ state, word = false, label }: { readonly state: State; readonly word?: boolean; readonly label?: string }) {
  const text = label ?? STATES[state];
  return (
    <span className={classes("kit-glyph", `kit-glyph-${state}`)} title={word ? undefined : text}>
      <svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true">
        {SHAPES[state]}
      </svg>
      <span className={word ? "kit-glyph-word" : "unseen"}>{text}</span>
    </span>
  );
}

/** State of an agent. */
export type PresenceState = keyof typeof PRESENCES;

const MARKS: Readonly<Record<PresenceState, ReactElement>> = {
  idle: <circle className="kit-glyph-filled" cx="5" cy="5" r="4" />,
  busy: <rect className="kit-glyph-filled" x="1" y="1" width="8" height="8" />,
  broken: <path className="kit-glyph-filled" d="M5 0l5 5-5 5-5-5z" />,
  off: <circle cx="5" cy="5" r="3.5" />,
};

/** An agent's state as shape and colour: filled dot, square, diamond, empty ring. */
export function Presence({ state, label }: { readonly state: PresenceState; readonly label?: string }) {
  const text = label ?? PRESENCES[state];
  return (
    <span className={classes("kit-presence", `kit-presence-${state}`)} title={text}>
      <svg width="10" height="10" viewBox="0 0 10 10" aria-hidden="true">
        {MARKS[state]}
      </svg>
      <span className="unseen">{text}</span>
    </span>
  );
}
