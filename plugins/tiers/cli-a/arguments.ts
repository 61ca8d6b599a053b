import { statSync } from "node:fs";
import { join } from "node:path";
import type { ProgramSettings, Turn, TurnContext } from "@svc/sdk";
import { nativeMode } from "./permission.ts";

/** Restrictions that a restricted run adds to a turn's arguments. */
export interface Restriction {
  readonly autonomy: "report" | "propose";
  readonly writable: boolean;
  /** For the end of the system prompt: what the run may and may not. */
  readonly words: string;
  /** A file with the tool servers that it may have. */
  readonly servers?: string;
}

/** The program's arguments for a turn, all but the session to resume: those of two turns that may share a process are the same. */
export function argumentsOf(turn: Turn, context: TurnContext, { permissionMode }: ProgramSettings, restriction?: Restriction): string[] {
  const model = turn.messages[0].options?.model ?? turn.agent.model;
  const own = join(turn.agent.workspace, ".mcp.json");
  const servers = restriction === undefined ? (isFile(own) ? own : undefined) : restriction.servers;
  const system = [context.system, restriction?.words ?? ""].filter((text) => text !== "").join("\n\n");
  return [
    "-p",
    ...["--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--include-partial-messages"],
    ...["--permission-prompt-tool", "stdio", "--permission-mode", nativeMode(permissionMode, restriction?.autonomy ?? "act")],
    ...(restriction === undefined ? [] : restricted(restriction)),
    "--strict-mcp-config",
    ...(servers === undefined ? [] : ["--mcp-config", servers]),
    ...(model === undefined ? [] : ["--model", model]),
    ...(system === "" ? [] : ["--append-system-prompt", system]),
  ];
}

/** Switches without which there are no restricted runs. */
export const RESTRICTING = ["--tools", "--setting-sources", "--strict-mcp-config", "--disable-slash-commands", "--permission-mode"] as const;

/**
 * Files in the workspace and the user's own may hold rules, hooks, commands and skills that start programs: none of them is read, and
 * of the program's own tools only those that the guard knows are there.
 */
function restricted({ writable }: Restriction): string[] {
  return ["--setting-sources", "", "--disable-slash-commands", "--tools", toolsOf(writable).join(",")];
}

/** The program's own tools in a restricted run. */
export const toolsOf = (writable: boolean): readonly string[] => ["Bash", "Read", "Task", "TaskStop", ...(writable ? ["Write", "Edit", "NotebookEdit"] : [])];

/** A place that a wall made to stand on is an empty folder. */
const isFile = (file: string): boolean => statSync(file, { throwIfNoEntry: false })?.isFile() === true;

/** Goes on with a native session. Without the second switch the program keeps the system prompt that the session began with; older ones do not know it. */
export const resuming = (session: string, knowsSnapshot: boolean): string[] => ["--resume", session, ...(knowsSnapshot ? [SNAPSHOT, "off"] : [])];
/** The switch that says whether a resumed session keeps its first system prompt. */
export const SNAPSHOT = "--system-prompt-snapshot";
