import { type Graph, type GraphNode, portOf } from "./graph-types.ts";

const FAULTS = ["error", "timeout"] as const;
/** Ports for what went wrong or late: they stand at the foot of a node. */
const AT_FOOT: ReadonlySet<string> = new Set([...FAULTS, "due"]);

/** The ports of a node, by what its kind says: the same list as that of the check of the server. `open`: an expression names others. */
export function portsOf(node: GraphNode): { readonly ports: readonly string[]; readonly open: boolean } {
  const closed = (ports: readonly string[]) => ({ ports, open: false });
  switch (node.kind) {
    case "trigger":
      return closed(["out"]);
    case "end":
    case "fail":
      return closed([]);
    case "join":
      return closed(["out", "error"]);
    case "branch":
    case "multiChoice":
      return closed([...casePorts(node["cases"]), "else", ...FAULTS]);
    case "approval":
      return closed(["approve", "reject", "due", ...FAULTS]);
    case "userTask": {
      const { submitTransition = "out" } = node;
      const text = String(submitTransition);
      return text.includes("{{") ? { ports: [...answerPorts(node, text), "due", ...FAULTS], open: true } : closed([text, "due", ...FAULTS]);
    }
    default:
      return closed(["out", ...FAULTS]);
  }
}

function casePorts(cases: unknown): readonly string[] {
  const ports = Array.isArray(cases) ? cases.map((one) => (one as { port?: unknown } | null)?.port) : [];
  return [...new Set(ports.filter((port): port is string => typeof port === "string" && port !== ""))];
}

/** `{{ values.verdict }}` names the options of the field `verdict`. */
function answerPorts(node: GraphNode, text: string): readonly string[] {
  const [, name] = /^\s*\{\{\s*values\.(\w+)\s*\}\}\s*$/.exec(text) ?? [];
  const form = Array.isArray(node["form"]) ? (node["form"] as readonly Record<string, unknown>[]) : [];
  const options = form.find((field) => field?.["name"] === name)?.["options"];
  return Array.isArray(options)
    ? options.map((option) => String(typeof option === "object" && option !== null ? (option as { value?: unknown }).value : option))
    : [];
}

/** A node's ports as they are drawn. */
export interface DrawnPorts {
  /** At the right side, from above. */
  readonly side: readonly string[];
  /** At the foot, from the right. */
  readonly foot: readonly string[];
}

/** Returns the ports of a node: those of its kind, and others that edges use. */
export function drawnPorts(node: GraphNode, { edges }: Pick<Graph, "edges">): DrawnPorts {
  const known = portsOf(node).ports;
  const used = edges.filter(({ from }) => from === node.id).map(portOf);
  const all = [...new Set([...known, ...used])];
  const side = all.filter((port) => !AT_FOOT.has(port));
  return { side, foot: all.filter((port) => AT_FOOT.has(port)) };
}
