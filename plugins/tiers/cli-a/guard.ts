import { refuseAddress } from "./guard-address.ts";
import { refuseWrite } from "./guard-path.ts";
import { refuseToPropose } from "./guard-propose.ts";
import { refuseToReport } from "./guard-report.ts";
import { parseShell } from "./guard-shell.ts";
import { type Fields, textOf } from "./lines.ts";

export type Autonomy = "report" | "propose" | "act";

/** A tool call before it runs. */
export interface GuardedCall {
  readonly tool: string;
  readonly input: Fields;
  /** Absolute. */
  readonly workspace: string;
}

export interface Decision {
  readonly allow: boolean;
  /** Why not, for the model and the guard log. Empty when allowed. */
  readonly reason: string;
}

const READING = new Set([
  "Read",
  "Glob",
  "Grep",
  "LS",
  "NotebookRead",
  "TodoRead",
  "TodoWrite",
  "WebSearch",
  "ToolSearch",
  "TaskOutput",
  "BashOutput",
  "ListAgents",
  "ExitPlanMode",
]);
/** Their own calls are guarded one by one. */
const SUB_AGENTS = new Set(["Task", "Agent"]);
const SHELLS = new Set(["Bash", "Monitor"]);
const WRITING: Readonly<Record<string, string>> = { Write: "file_path", Edit: "file_path", MultiEdit: "file_path", NotebookEdit: "notebook_path" };
const LASTING = new Set(["CronCreate", "CronDelete", "ScheduleWakeup", "RemoteTrigger", "SendMessage"]);
const HARMFUL_WORDS =
  /(^|[_-])(merge|delete|remove|destroy|drop|deploy|publish|release|rollback|restart|reboot|shutdown|approve|transfer|archive|revoke)([_-]|$)/i;

/**
 * May a run of this autonomy make this call (001:L164)? `report`: only what is known to read. `propose`: all but what is known to
 * merge, deploy, delete, force, or work outside the workspace. Throws nothing: what cannot be judged is refused.
 */
export async function decide(autonomy: Autonomy, call: GuardedCall): Promise<Decision> {
  if (autonomy === "act") return { allow: true, reason: "" };
  let reason: string | undefined;
  try {
    reason = await (autonomy === "report" ? judgeReport(call) : judgeProposal(call));
  } catch (error) {
    reason = `it cannot be judged: ${(error as Error).message}`;
  }
  return reason === undefined ? { allow: true, reason: "" } : { allow: false, reason: `autonomy '${autonomy}' does not allow ${call.tool}: ${reason}` };
}

function judgeReport({ tool, input }: GuardedCall): string | undefined {
  if (READING.has(tool) || SUB_AGENTS.has(tool)) return undefined;
  if (tool === "WebFetch") return refuseAddress(textOf(input.url) ?? "");
  if (tool !== "Bash") return "it is not known to only read";
  const script = parseShell(textOf(input.command) ?? "");
  return script === undefined ? "the command cannot be read for certain" : refuseToReport(script);
}

async function judgeProposal({ tool, input, workspace }: GuardedCall): Promise<string | undefined> {
  const target = WRITING[tool];
  if (target !== undefined) return refuseWrite(textOf(input[target]) ?? "", workspace);
  if (tool === "WebFetch") return refuseAddress(textOf(input.url) ?? "");
  if (LASTING.has(tool)) return "it works beyond this run";
  if (tool.startsWith("mcp__") && HARMFUL_WORDS.test(tool.replace(/([a-z])([A-Z])/g, "$1_$2"))) return "its name says that it merges, deploys or deletes";
  if (!SHELLS.has(tool)) return undefined;
  return refuseToPropose(textOf(input.command) ?? "", workspace);
}
