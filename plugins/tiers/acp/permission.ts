import { realpathSync } from "node:fs";
import { dirname, isAbsolute, relative, resolve } from "node:path";
import type { PermissionMode, ProgramSettings } from "@svc/sdk";
import { type Fields, fieldsOf, listOf, type PermissionCall, textOf } from "@svc/sdk/engine";

/** Kinds of calls that `acceptEdits` allows, where all files of the call lie in the workspace. */
const EDITS = ["read", "edit", "move", "search", "think"];

/**
 * Whether the call may run that the program asks about. `bypassPermissions` allows all, `plan` nothing; in between the tools of the operator's
 * servers are allowed, and with `acceptEdits` reading and editing files of the workspace. An unclear call is refused: there is no person to ask.
 */
export function mayRun({ toolCall }: Fields, { permissionMode, servers }: Pick<ProgramSettings, "permissionMode" | "servers">, workspace: string): boolean {
  if (permissionMode === "bypassPermissions") return true;
  if (permissionMode === "plan") return false;
  const call = fieldsOf(toolCall);
  if (servers.some((server) => isToolOf(server, call))) return true;
  return permissionMode === "acceptEdits" && EDITS.includes(textOf(call.kind) ?? "") && liesIn(workspace, call);
}

/** The call, for a person to decide; undefined where the mode decides. */
export function openCall(toolCall: Fields, { permissionMode }: Pick<ProgramSettings, "permissionMode">): PermissionCall | undefined {
  if (permissionMode === "bypassPermissions" || permissionMode === "plan") return undefined;
  const { toolCallId: _id, status: _status, ...input } = toolCall;
  return { tool: textOf(input.kind) ?? "a tool", input };
}

/** Programs name a server's tool in one of these ways, by `name`, else in the id of the call. */
const isToolOf = (server: string, { name, toolCallId }: Fields): boolean =>
  [textOf(name) ?? textOf(toolCallId) ?? ""].some((text) => [`mcp__${server}__`, `mcp_${server}_`].some((prefix) => text.startsWith(prefix)));

/** The call names files, and each lies in the workspace, by its real path. */
function liesIn(workspace: string, { locations, content }: Fields): boolean {
  const named = [...listOf(locations), ...listOf(content)].flatMap(({ path }) => textOf(path) ?? []);
  return named.length > 0 && named.every((path) => isBelow(real(workspace), real(resolve(workspace, path))));
}

function isBelow(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== ".." && !way.startsWith("../") && !isAbsolute(way);
}

/** Where the path leads; of one that is not there, where its nearest folder leads. */
function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const above = dirname(path);
    return above === path ? path : resolve(real(above), relative(above, path));
  }
}

/** Usual names of the modes in programs. */
const USUAL: Readonly<Record<PermissionMode, readonly string[]>> = {
  default: ["default", "read-only"],
  acceptEdits: ["acceptEdits", "autoEdit", "auto_edit", "auto-edit", "auto"],
  plan: ["plan", "read-only", "read_only"],
  bypassPermissions: ["bypassPermissions", "yolo", "full-access"],
};

/** The program's mode for a permission mode: the one that is set, else a usual one among those it has. Undefined: it stays in its own. */
export const modeOf = (mode: PermissionMode, offered: readonly string[], set: string | undefined): string | undefined =>
  set ?? USUAL[mode].find((name) => offered.includes(name));
