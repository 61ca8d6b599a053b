import type { ProgramSettings } from "@svc/sdk";
import { type Fields, fieldsOf, type PermissionCall, textOf } from "@svc/sdk/engine";

/** The program's own name for a permission mode. */
export const modeOf = ({ permissionMode }: Pick<ProgramSettings, "permissionMode">): string =>
  ({ default: "default", acceptEdits: "autoEdit", plan: "plan", bypassPermissions: "yolo" })[permissionMode];

/** The call, for a person to decide; undefined where the mode decides. */
export function openCall(toolCall: Fields, { permissionMode }: Pick<ProgramSettings, "permissionMode">): PermissionCall | undefined {
  if (permissionMode === "bypassPermissions" || permissionMode === "plan") return undefined;
  const { toolCallId: _id, status: _status, ...input } = toolCall;
  return { tool: textOf(input.kind) ?? "a tool", input };
}

/** May the call run that the program asks about? What the mode left open is rejected, tools of the operator's servers are allowed. */
export function mayRun(params: Fields, { permissionMode, servers }: Pick<ProgramSettings, "permissionMode" | "servers">): boolean {
  const id = textOf(fieldsOf(params.toolCall).toolCallId) ?? "";
  const ownTool = servers.some((server) => id.startsWith(`mcp_${server}_`));
  return permissionMode === "bypassPermissions" || (ownTool && permissionMode !== "plan");
}
