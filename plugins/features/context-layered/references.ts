import { type Confined, LAYERS, type Layer } from "@svc/sdk";
import { type Judged, judge, readRegistry } from "./reference-registry.ts";
import { headed, oneLine } from "./words.ts";

const SHOWN = 60;

/**
 * The references of a workspace (001:L50) that somebody has checked, by name, each with whether it still is what was checked. Throws with
 * the reason when there is a registry that cannot be used.
 */
export async function references(workspace: Confined): Promise<Layer> {
  const checked = (await readRegistry(workspace)).filter(({ verified }) => verified !== undefined && verified !== "");
  const lines = (await judge(workspace, checked.slice(0, SHOWN))).map(line);
  return { name: "references", priority: LAYERS.references, text: headed("Verified references", lines.join("\n")) };
}

function line(reference: Judged): string {
  const { name, at, note } = reference;
  return `- ${oneLine(name, 80)}: ${oneLine(at)}${note === undefined ? "" : ` - ${oneLine(note)}`} (${standing(reference)})`;
}

/** Describes its state, for agents and people. */
export function standing({ state, verified = "", reason = "" }: Judged): string {
  const day = oneLine(verified, 30);
  if (state === "unverified") return `unverified: ${oneLine(reason, 100)}`;
  return state === "recorded" ? `checked ${day}` : state === "verified" ? `verified ${day}` : "never checked";
}
