import type { Node } from "../engine/types.ts";

const NONE: readonly string[] = [];
const FAULTS = ["error", "timeout"];

/** The ports that a node may leave by; undefined where an expression decides, so that any name may be one. */
export function portsOf(node: Node): readonly string[] | undefined {
  switch (node.kind) {
    case "trigger":
      return ["out"];
    case "end":
    case "fail":
      return NONE;
    case "join":
      return ["out", "error"];
    case "branch":
    case "multiChoice":
      return [...node.cases.map(({ port }) => port), "else", ...FAULTS];
    case "approval":
      return ["approve", "reject", "due", ...FAULTS];
    case "userTask": {
      const { submitTransition = "out" } = node;
      return submitTransition.includes("{{") ? undefined : [submitTransition, "due", ...FAULTS];
    }
    default:
      return ["out", ...FAULTS];
  }
}
