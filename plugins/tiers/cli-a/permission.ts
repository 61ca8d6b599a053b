import type { Autonomy } from "./guard.ts";
import type { AgentSettings, PermissionMode } from "./settings.ts";

/**
 * The program's own permission mode for a run. A restricted run never bypasses the questions, so that a call which escaped the
 * guard's hook is still asked about.
 */
export const nativeMode = (mode: PermissionMode, autonomy: Autonomy): PermissionMode => (autonomy !== "act" && mode === "bypassPermissions" ? "default" : mode);

/** The answer to a question that the program's mode left open. There is nobody at a terminal, so whoever must ask may not. */
export function mayUse(
  { permissionMode: mode, servers }: Pick<AgentSettings, "permissionMode" | "servers">,
  tool: string,
): { readonly allow: boolean; readonly reason: string } {
  const ownTool = servers.some((server) => tool.startsWith(`mcp__${server}__`));
  if (mode === "bypassPermissions" || (ownTool && mode !== "plan")) return { allow: true, reason: "" };
  if (tool === "AskUserQuestion") return { allow: false, reason: "Nobody is at a terminal here. Ask in your answer instead." };
  return {
    allow: false,
    reason: `permissionMode '${mode}' does not allow this call, and nobody is here to be asked. Go on without it, or say in your answer that it is needed.`,
  };
}
