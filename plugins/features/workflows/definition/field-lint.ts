import { durationMs } from "../engine/duration.ts";
import type { FormField, Node } from "../engine/types.ts";
import { compileRegex } from "../expressions/safe-regex.ts";
import type { Finding } from "./problem.ts";

/** Existing names that a definition may reference. Undefined if unknown. */
export interface Known {
  readonly agents?: ReadonlySet<string>;
  readonly actions?: ReadonlySet<string>;
  readonly workflows?: ReadonlySet<string>;
}

/** Checks fields of a node beyond the schema. */
export function fieldFindings(node: Node, pointer: string, known: Known): readonly Finding[] {
  const findings: Finding[] = [];
  const found = (severity: "error" | "warning", code: string, message: string, below = "") =>
    void findings.push({ severity, code, message, pointer: pointer + below });
  for (const [below, text] of durationsOf(node)) {
    if (typeof text === "string" && !text.includes("{{") && durationMs(text) === undefined)
      found("error", "DURATION", `${text} is no duration, or longer than 400 days; write 250ms, 10s, 5m, 2h, 3d or PT5M.`, below);
  }
  if (node.kind === "timer" && node.until !== undefined && !node.until.includes("{{") && Number.isNaN(Date.parse(node.until)))
    found("error", "DATE", `${node.until} is no time; write one such as 2026-05-01T09:00:00Z.`, "/until");
  if (node.kind === "approval" && node.timeout === undefined)
    found("warning", "NO_TIMEOUT", `The approval ${node.id} has no timeout: the run waits for ever if nobody answers.`);
  if (node.kind === "userTask") {
    if (["due", "timeout", "error"].includes(node.submitTransition ?? ""))
      found("error", "UNKNOWN_PORT", `${node.submitTransition} is not for an answer.`, "/submitTransition");
    findings.push(...formFindings(node.form ?? [], `${pointer}/form`));
  }
  const missing = missingOf(node, known);
  if (missing !== undefined) found("warning", missing.code, `There is no ${missing.what} ${missing.name} now.`, `/${missing.what}`);
  return findings;
}

function durationsOf(node: Node): readonly (readonly [string, unknown])[] {
  const fields = node as {
    readonly timeout?: string;
    readonly due?: string;
    readonly remindEvery?: string;
    readonly for?: string;
    readonly retry?: { delay?: string; maxDelay?: string };
  };
  return [
    ["/timeout", fields.timeout],
    ["/due", fields.due],
    ["/remindEvery", fields.remindEvery],
    ["/for", fields.for],
    ["/retry/delay", fields.retry?.delay],
    ["/retry/maxDelay", fields.retry?.maxDelay],
  ];
}

function formFindings(form: readonly FormField[], pointer: string): readonly Finding[] {
  const seen = new Set<string>();
  return form.flatMap(({ name, pattern }, index) => {
    const findings: Finding[] = [];
    if (seen.has(name))
      findings.push({ severity: "error", code: "DUPLICATE_FIELD", message: `The form has two fields ${name}.`, pointer: `${pointer}/${index}/name` });
    seen.add(name);
    try {
      if (pattern !== undefined) compileRegex(pattern);
    } catch (error) {
      findings.push({
        severity: "error",
        code: "PATTERN",
        message: `The pattern cannot be used: ${(error as Error).message}.`,
        pointer: `${pointer}/${index}/pattern`,
      });
    }
    return findings;
  });
}

function missingOf(node: Node, { agents, actions, workflows }: Known): { readonly code: string; readonly what: string; readonly name: string } | undefined {
  // An expression decides, another node has it, or an external service.
  const isOpen = (name: string) => name.includes("{{") || name.includes("@") || name.startsWith("extern:");
  const missing = (what: string, code: string, name: string | undefined, names: ReadonlySet<string> | undefined) =>
    name !== undefined && names !== undefined && !isOpen(name) && !names.has(name) ? { code, what, name } : undefined;
  if (node.kind === "agent") return missing("agent", "MISSING_AGENT", node.agent, agents);
  if (node.kind === "action") return missing("action", "MISSING_ACTION", node.action, actions);
  if (node.kind === "subProcess") return missing("workflow", "MISSING_WORKFLOW", node.workflow, workflows);
  return undefined;
}
