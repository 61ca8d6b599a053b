import { GRAPH } from "../words/graph.ts";
import { bodyOf, type GraphNode } from "./graph-types.ts";

/** Returns the display name of a node. */
export const nameOf = ({ id, label }: GraphNode): string => (typeof label === "string" && label.trim() !== "" ? label : id);

/** A node's kind and the one fact that tells it from others of its kind. */
export function factsOf(node: GraphNode): string {
  const fact = factOf(node);
  return fact === "" ? node.kind : `${node.kind} · ${fact}`;
}

function factOf(node: GraphNode): string {
  const text = (field: string) => (typeof node[field] === "string" ? (node[field] as string) : "");
  const list = (field: string) => (Array.isArray(node[field]) ? (node[field] as readonly unknown[]) : []);
  switch (node.kind) {
    case "trigger":
      return Object.keys((node["inputSchema"] ?? {}) as object).join(", ");
    case "agent":
      return text("agent");
    case "action":
      return text("action");
    case "branch":
    case "multiChoice":
      return GRAPH.cases(list("cases").length);
    case "join":
      return GRAPH.waitFor(String(node["wait"] ?? "all"));
    case "forEach":
      return GRAPH.inside(bodyOf(node)?.nodes.length ?? 0);
    case "userTask":
    case "approval":
      return text("assignee");
    case "timer":
      return text("for") || text("until");
    case "waitSignal":
    case "emitSignal":
      return text("signal");
    case "subProcess":
      return text("workflow");
    case "cancelNodes":
      return list("nodes").join(", ");
    case "fail":
      return text("code") || "FAILED";
    case "end":
      return node["output"] === undefined ? "" : "output";
    default:
      return "";
  }
}
