import type { Agent } from "@svc/sdk";
import { colourOf } from "./colour.ts";
import type { PresenceSettings } from "./settings.ts";

/** `teach`: it shows and explains. `act`: it does it itself. */
export type Mode = "teach" | "act";

/** How an agent is shown. */
export interface Shown {
  readonly agent: string;
  readonly color: string;
  readonly initial: string;
  readonly label: string;
  readonly allowActions: boolean;
  /** What it does now, and since when (Unix milliseconds); absent before its first word. */
  readonly mode?: Mode;
  readonly note?: string;
  readonly at?: number;
}

/** What an agent has said of itself, as it is stored. */
export interface SaidRow {
  readonly mode: Mode;
  readonly note?: string;
  readonly at: number;
}

const settingsOf = ({ settings }: Agent): PresenceSettings => (settings.presence ?? {}) as PresenceSettings;

/** What becomes of a wish to act or to teach: without `allowActions` acting is teaching (OPS-09). It neither fails nor acts. */
export const modeFor = (asked: Mode, agent: Agent): Mode => (asked === "act" && settingsOf(agent).allowActions === true ? "act" : "teach");

/** How an agent is shown, with the defaults of what its entry leaves out. A stored word is judged anew: what was permitted then may not be now. */
export function shownOf(agent: Agent, said?: SaidRow): Shown {
  const { color = colourOf(agent.id), initial = initialOf(agent.name), label = agent.name, allowActions = false } = settingsOf(agent);
  return { agent: agent.id, color, initial, label, allowActions, ...(said === undefined ? {} : { ...said, mode: modeFor(said.mode, agent) }) };
}

/** The first letter as people see it, not half of one. */
function initialOf(name: string): string {
  const [first] = new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(name.trim());
  return first?.segment.toLocaleUpperCase() ?? "?";
}
