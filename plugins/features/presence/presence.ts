import type { Agent } from "@svc/sdk";
import { colourOf } from "./colour.ts";
import type { PresenceSettings } from "./settings.ts";

/** `teach`: it shows and explains. `act`: it does it itself. */
export type Mode = "teach" | "act";

/** Presentation of an agent. */
export interface Shown {
  readonly agent: string;
  readonly color: string;
  readonly initial: string;
  readonly label: string;
  readonly allowActions: boolean;
  /** Current mode, and since when (Unix milliseconds); absent before its first report. */
  readonly mode?: Mode;
  readonly note?: string;
  readonly at?: number;
}

/** Stored report of an agent about itself. */
export interface SaidRow {
  readonly mode: Mode;
  readonly note?: string;
  readonly at: number;
}

const settingsOf = ({ settings }: Agent): PresenceSettings => (settings.presence ?? {}) as PresenceSettings;

/** Returns the effective mode: without `allowActions` acting is teaching (OPS-09). It neither fails nor acts. */
export const modeFor = (asked: Mode, agent: Agent): Mode => (asked === "act" && settingsOf(agent).allowActions === true ? "act" : "teach");

/** Returns an agent's presentation, with the defaults of its entry. A stored report is checked again: the permission may have changed. */
export function shownOf(agent: Agent, said?: SaidRow): Shown {
  const { color = colourOf(agent.id), initial = initialOf(agent.name), label = agent.name, allowActions = false } = settingsOf(agent);
  return { agent: agent.id, color, initial, label, allowActions, ...(said === undefined ? {} : { ...said, mode: modeFor(said.mode, agent) }) };
}

/** The first letter as people see it, not half of one. */
function initialOf(name: string): string {
  const [first] = new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(name.trim());
  return first?.segment.toLocaleUpperCase() ?? "?";
}
