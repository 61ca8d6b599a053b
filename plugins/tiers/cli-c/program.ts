import { type Executable, executableOf, requireExecutable } from "@svc/sdk/engine";

/** The program behind `command`. Throws `SVC_TIER_PROGRAM` naming what was looked for. */
export const findProgram = (command: string, searchPath: string): Executable =>
  executableOf(requireExecutable({ command, searchPath, tier: "cli-c", product: "Gemini CLI", script: true }));
