import type { ProgramSettings } from "@svc/sdk";
import { type Fields, fieldsOf, textOf } from "@svc/sdk/engine";

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
 * The answer to a question of the program. There is nobody to be asked: what the mode's sandbox does not allow is declined, tools
 * of servers that the operator gave the agent are accepted. Undefined for questions that are not known.
 */
export function answer(method: string, params: Fields, { permissionMode, servers }: Pick<ProgramSettings, "permissionMode" | "servers">): Fields | undefined {
  const allowed = permissionMode === "bypassPermissions";
  switch (method) {
    case "item/commandExecution/requestApproval":
    case "item/fileChange/requestApproval":
      return { decision: allowed ? "accept" : "decline" };
    case "item/permissions/requestApproval":
      return { permissions: {}, scope: "turn" };
    case "item/tool/requestUserInput":
      return { answers: {} };
    case "mcpServer/elicitation/request": {
      const ownTool = fieldsOf(params._meta).codex_approval_kind === "mcp_tool_call" && servers.includes(textOf(params.serverName) ?? "");
      const accepted = allowed || (ownTool && permissionMode !== "plan");
      return { action: accepted ? "accept" : "decline", content: accepted ? {} : null, _meta: null };
    }
    default:
      return undefined;
  }
}
