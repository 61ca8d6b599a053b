import { createHash } from "node:crypto";
import { isRecord } from "./json.ts";

/** For people: a change of these is no change of what runs. */
const TOP_LABELS: ReadonlySet<string> = new Set(["name", "description", "tags"]);

/** SHA-256 (hex) of what runs: JSON with sorted keys, without `name`, `description` and `tags` at the top and `label` of nodes. */
export function definitionHash(definition: object): string {
  const top = Object.fromEntries(Object.entries(definition).filter(([key]) => !TOP_LABELS.has(key)));
  return createHash("sha256")
    .update(JSON.stringify(sorted(withoutLabels(top))))
    .digest("hex");
}

function withoutLabels(graph: Record<string, unknown>): Record<string, unknown> {
  const nodes = graph["nodes"];
  if (!Array.isArray(nodes)) return graph;
  return { ...graph, nodes: nodes.map((node) => (isRecord(node) ? withoutLabel(node) : node)) };
}

function withoutLabel({ label: _, ...node }: Record<string, unknown>): Record<string, unknown> {
  return isRecord(node["do"]) ? { ...node, do: withoutLabels(node["do"]) } : node;
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  );
}
