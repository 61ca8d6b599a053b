import { type Confined, LAYERS, type Layer } from "@svc/sdk";
import { headed, oneLine } from "./words.ts";

const REGISTRY = "references/registry.json";
const MAX_BYTES = 262_144;
const SHOWN = 60;

/** An entry of the registry that somebody has checked. */
interface Reference {
  readonly name: string;
  /** A path below the workspace or an address. */
  readonly at: string;
  readonly note?: string;
  /** When it was checked: `2026-01-31`. */
  readonly verified: string;
}

/**
 * The verified references of a workspace (001:L50): the entries of `references/registry.json` that carry a date in `verified`, by name.
 * No model takes part: the same file gives the same block. Throws with the reason when there is a registry that cannot be used.
 */
export async function references(workspace: Confined): Promise<Layer> {
  const lines = (await registry(workspace))
    .filter(isVerified)
    .toSorted((left, right) => (left.name < right.name ? -1 : 1))
    .slice(0, SHOWN)
    .map(
      ({ name, at, note, verified }) =>
        `- ${oneLine(name, 80)}: ${oneLine(at)}${note === undefined ? "" : ` - ${oneLine(note)}`} (checked ${oneLine(verified, 30)})`,
    );
  return { name: "references", priority: LAYERS.references, text: headed("Verified references", lines.join("\n")) };
}

async function registry(workspace: Confined): Promise<readonly unknown[]> {
  const bytes = await workspace.read(REGISTRY, MAX_BYTES).catch((error) => {
    if (error.code === "SVC_FILE_MISSING") return undefined;
    throw error;
  });
  if (bytes === undefined) return [];
  const found: unknown = JSON.parse(new TextDecoder().decode(bytes));
  if (!Array.isArray(found)) throw new Error(`${REGISTRY} must hold a list of {name, at, verified}`);
  return found;
}

function isVerified(entry: unknown): entry is Reference {
  const { name, at, note, verified } = (entry ?? {}) as Record<string, unknown>;
  return (
    typeof name === "string" && typeof at === "string" && typeof verified === "string" && verified !== "" && (note === undefined || typeof note === "string")
  );
}
