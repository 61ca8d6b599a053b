import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Turn, TurnContext } from "@svc/sdk";
import type { Autonomy } from "./guard.ts";
import { nativeMode } from "./permission.ts";
import type { AgentSettings } from "./settings.ts";

/** The program's arguments for a turn, all but the session to resume: those of two turns that may share a process are the same. */
export function argumentsOf(turn: Turn, context: TurnContext, { permissionMode }: AgentSettings, autonomy: Autonomy): string[] {
  const model = turn.messages[0].options?.model ?? turn.agent.model;
  const servers = join(turn.agent.workspace, ".mcp.json");
  // Files in the workspace may have been written by the agent itself: a restricted run takes no rule or hook from them, and one
  // that only reads has no servers either.
  const restricted = autonomy !== "act";
  const withServers = autonomy !== "report" && existsSync(servers);
  return [
    "-p",
    ...["--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--include-partial-messages"],
    ...["--permission-prompt-tool", "stdio", "--permission-mode", nativeMode(permissionMode, autonomy)],
    ...(restricted ? ["--setting-sources", ""] : []),
    "--strict-mcp-config",
    ...(withServers ? ["--mcp-config", servers] : []),
    ...(model === undefined ? [] : ["--model", model]),
    ...(context.system === "" ? [] : ["--append-system-prompt", context.system]),
  ];
}

/** Goes on with a native session. Without the second switch the program keeps the system prompt that the session began with. */
export const resuming = (session: string): string[] => ["--resume", session, "--system-prompt-snapshot", "off"];
