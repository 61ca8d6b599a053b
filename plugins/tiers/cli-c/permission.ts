import { type Fields, fieldsOf, textOf } from "@svc/sdk/engine";
import type { AgentSettings } from "./settings.ts";

/** The program's own name for a permission mode. */
export const modeOf = ({ permissionMode }: Pick<AgentSettings, "permissionMode">): string =>
  ({ default: "default", acceptEdits: "autoEdit", plan: "plan", bypassPermissions: "yolo" })[permissionMode];

/**
 * The answer to `session/request_permission`: which of the offered options. There is nobody to be asked: what the mode left open is
 * rejected, tools of servers that the operator gave the agent are allowed.
 */
export function answer(
  params: Fields,
  { permissionMode, servers }: Pick<AgentSettings, "permissionMode" | "servers">,
): { readonly allow: boolean; readonly result: Fields } {
  const id = textOf(fieldsOf(params.toolCall).toolCallId) ?? "";
  const ownTool = servers.some((server) => id.startsWith(`mcp_${server}_`));
  const allow = permissionMode === "bypassPermissions" || (ownTool && permissionMode !== "plan");
  const options = (Array.isArray(params.options) ? params.options : []).map(fieldsOf);
  const chosen = options.find(({ kind }) => kind === (allow ? "allow_once" : "reject_once"));
  return {
    allow: allow && chosen !== undefined,
    result: { outcome: chosen === undefined ? { outcome: "cancelled" } : { outcome: "selected", optionId: chosen.optionId } },
  };
}
