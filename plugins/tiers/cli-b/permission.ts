import type { ProgramSettings } from "@svc/sdk";
import { type Fields, fieldsOf, type PermissionCall, textOf } from "@svc/sdk/engine";

/** The program's own two switches for a permission mode. */
export function sandboxOf({ permissionMode }: Pick<ProgramSettings, "permissionMode">): { readonly sandbox: string; readonly approvalPolicy: string } {
  switch (permissionMode) {
    case "bypassPermissions":
      return { sandbox: "danger-full-access", approvalPolicy: "never" };
    case "acceptEdits":
      return { sandbox: "workspace-write", approvalPolicy: "on-request" };
    case "plan":
      return { sandbox: "read-only", approvalPolicy: "never" };
    default:
      return { sandbox: "read-only", approvalPolicy: "on-request" };
  }
}

/**
 * The call that the program asks about, for a person to decide; undefined where the mode decides, and for questions of another sort.
 * `item` is what the program told of the call before: the changes of a file stand there alone.
 */
export function openCall(
  method: string,
  params: Fields,
  settings: Pick<ProgramSettings, "permissionMode" | "servers">,
  item: Fields | undefined,
): PermissionCall | undefined {
  const { permissionMode } = settings;
  if (permissionMode === "bypassPermissions" || permissionMode === "plan") return undefined;
  const { threadId: _thread, turnId: _turn, itemId: _item, availableDecisions: _decisions, startedAtMs: _at, ...input } = params;
  // The request is for more than this one call.
  if (textOf(input.grantRoot) !== undefined) return undefined;
  if (method === "item/commandExecution/requestApproval") return { tool: "command", input };
  if (method === "item/fileChange/requestApproval") return item === undefined ? undefined : { tool: "file change", input: { ...input, changes: item.changes } };
  const { codex_approval_kind: kind } = fieldsOf(params._meta);
  const isCall = method === "mcpServer/elicitation/request" && kind === "mcp_tool_call" && !servesAgent(params, settings);
  return isCall ? { tool: `tool of ${textOf(params.serverName) ?? "a server"}`, input } : undefined;
}

const servesAgent = ({ serverName }: Fields, { servers }: Pick<ProgramSettings, "servers">): boolean => servers.includes(textOf(serverName) ?? "");

/**
 * The answer to a question of the program: what the mode's sandbox does not allow is declined unless a person has allowed it, tools
 * of servers that the operator gave the agent are accepted. Undefined for questions that are not known.
 */
export function answer(
  method: string,
  params: Fields,
  settings: Pick<ProgramSettings, "permissionMode" | "servers">,
  allowedByPerson = false,
): Fields | undefined {
  const { permissionMode } = settings;
  const allowed = permissionMode === "bypassPermissions" || allowedByPerson;
  switch (method) {
    case "item/commandExecution/requestApproval":
    case "item/fileChange/requestApproval":
      return { decision: allowed ? "accept" : "decline" };
    case "item/permissions/requestApproval":
      return { permissions: {}, scope: "turn" };
    case "item/tool/requestUserInput":
      return { answers: {} };
    case "mcpServer/elicitation/request": {
      const ownTool = fieldsOf(params._meta).codex_approval_kind === "mcp_tool_call" && servesAgent(params, settings);
      const accepted = allowed || (ownTool && permissionMode !== "plan");
      return { action: accepted ? "accept" : "decline", content: accepted ? {} : null, _meta: null };
    }
    default:
      return undefined;
  }
}
