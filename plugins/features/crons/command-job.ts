import { reasonOf, type Spawn } from "@svc/sdk";
import type { Outcome } from "./runs.ts";
import type { JobSettings } from "./settings.ts";

/** Bytes kept of each stream. */
const KEPT_BYTES = 16_384;
/** Characters of it in the record. */
const SHOWN = 4_000;

/** The command comes in a variable, so that what svc.json expanded in it is not seen in the list of processes; programs that it starts do not get it. */
const SCRIPT = 'svc_command=$SVC_CRON_COMMAND; unset SVC_CRON_COMMAND; eval "$svc_command"';

/** Runs a job's command in a shell, in `folder`; its exit status decides (CRON-06). Never rejects. */
export async function runCommand(
  spawn: Spawn,
  { command = "", timeout }: Pick<JobSettings, "command" | "timeout">,
  folder: string,
  signal: AbortSignal,
): Promise<Outcome> {
  try {
    const child = spawn("/bin/sh", ["-c", SCRIPT], {
      cwd: folder,
      env: { SVC_CRON_COMMAND: command },
      stdin: "ignore",
      timeoutMs: timeout * 1_000,
      maxOutputBytes: KEPT_BYTES,
      signal,
    });
    await child.started;
    const { code, signal: killed, stdout, stderr, reason, truncated } = await child.ended;
    const said = [stdout, stderr]
      .map((text) => text.trimEnd())
      .filter(Boolean)
      .join("\n");
    const output = said === "" ? {} : { output: said.length > SHOWN || truncated ? `... ${said.slice(-SHOWN)}` : said };
    if (reason === "aborted") return { status: "interrupted", error: "The daemon or the plugin stopped in the middle of it.", ...output };
    if (reason === "timeout") return { status: "failed", errorKind: "timeout", error: `timed out after ${timeout}s`, ...output };
    if (code === 0) return { status: "ok", exitCode: 0, ...output };
    if (code === null) return { status: "failed", errorKind: "signal", error: `ended by ${killed ?? "a signal"}`, ...output };
    return { status: "failed", errorKind: "exit", exitCode: code, error: `exit status ${code}`, ...output };
  } catch (error) {
    return { status: "failed", errorKind: "spawn", error: reasonOf(error) };
  }
}
