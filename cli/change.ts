import type { Editor } from "@svc/kernel";
import { firstParty } from "./catalog.ts";
import type { Cli } from "./cli.ts";
import { fail } from "./errors.ts";

/** What the daemon made of a change. */
export interface Verdict {
  readonly applied: boolean;
  /** Changed paths that wait for a restart. */
  readonly restartRequired: readonly string[];
  /** Why it is not in force yet, when it is not. */
  readonly reloadSkipped?: string;
  readonly failed?: readonly { readonly plugin: string; readonly reason: string }[];
}

/** Open svc.json for reading and changing it in place. */
export async function openFile(cli: Cli): Promise<Editor> {
  const { openEditor } = await import("@svc/kernel");
  return openEditor({ file: cli.file, dataFolder: cli.dataFolder, known: firstParty().map(({ folder }) => folder), env: process.env });
}

/**
 * Save a change that the checks allow, and wait for what the daemon says to it. A change the daemon refuses is taken back, so that
 * the file never holds what is not in force for a reason nobody reads. A stopped daemon is no failure: the file is written.
 */
export async function applyChange(cli: Cli, editor: Editor, options: { readonly backup?: boolean } = {}): Promise<Verdict> {
  const before = editor.original;
  await editor.save(options);
  try {
    const report = (await cli.request("POST", "/reload")) as { restartRequired: string[]; failed: Verdict["failed"] };
    return { applied: true, restartRequired: report.restartRequired, failed: report.failed ?? [] };
  } catch (error) {
    if ((error as { code?: string }).code === "SVC_CLI_NO_DAEMON")
      return { applied: false, restartRequired: [], reloadSkipped: "ECONNREFUSED: the daemon is not running; the change is in force at its next start" };
    await editor.restore(before);
    throw fail("SVC_CLI_TASK_FAILED", { reason: `the daemon refused the change, and it was taken back: ${(error as Error).message}` });
  }
}

/** The verdict in words. */
export function describeVerdict({ applied, restartRequired, reloadSkipped, failed = [] }: Verdict): string {
  return [
    applied ? "In force now." : (reloadSkipped ?? ""),
    ...(restartRequired.length === 0 ? [] : [`Waits for a restart (svc daemon restart): ${restartRequired.join(", ")}`]),
    ...failed.map(({ plugin, reason }) => `Plugin ${plugin} could not follow: ${reason}`),
  ].join("\n");
}
