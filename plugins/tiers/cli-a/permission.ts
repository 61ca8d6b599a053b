import type { Autonomy, PermissionMode, ProgramSettings } from "@svc/sdk";

/** The program's own permission mode. In a restricted run only what the guard's hook allows runs, so that a call which escaped it is refused. */
export const nativeMode = (mode: PermissionMode, autonomy: Autonomy): PermissionMode | "dontAsk" => (autonomy === "act" ? mode : "dontAsk");

/** May a restricted run change files? A restricted run may never do more than a normal one. */
export const mayChange = (mode: PermissionMode, autonomy: Autonomy): boolean =>
  autonomy === "propose" && (mode === "acceptEdits" || mode === "bypassPermissions");

/** The answer to a question that the program's mode left open, by the settings. `open`: refused unless a person is asked and says yes. */
export function mayUse(
  { permissionMode: mode, servers }: Pick<ProgramSettings, "permissionMode" | "servers">,
  tool: string,
): { readonly allow: boolean; readonly reason: string; readonly open?: true } {
  const ownTool = servers.some((server) => tool.startsWith(`mcp__${server}__`));
  if (mode === "bypassPermissions" || (ownTool && mode !== "plan")) return { allow: true, reason: "" };
  if (tool === "AskUserQuestion") return { allow: false, reason: "Nobody is at a terminal here. Ask in your answer instead." };
  return {
    allow: false,
    ...(mode === "plan" ? {} : { open: true }),
    reason: `permissionMode '${mode}' does not allow this call, and nobody is here to be asked. Go on without it, or say in your answer that it is needed.`,
  };
}
