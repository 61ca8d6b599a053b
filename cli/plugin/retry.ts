import type { Cli } from "../cli.ts";
import { fail } from "../errors.ts";

/** Take a plugin out of quarantine; a running daemon loads it at once. */
export async function retry(cli: Cli, id: string): Promise<void> {
  const { releaseQuarantine } = await import("@svc/kernel/quarantine");
  if (!releaseQuarantine(cli.dataFolder, id)) throw fail("SVC_CLI_MISSING", { what: `plugin ${id} in quarantine`, next: "svc plugin list" });
  try {
    const { failed } = (await cli.request("POST", "/reload")) as { failed: { plugin: string; reason: string }[] };
    const problem = failed.find(({ plugin }) => plugin === id);
    cli.print(problem === undefined ? `${id} is loaded again.` : `${id} was released, and failed: ${problem.reason}`, { id, loaded: problem === undefined });
    if (problem !== undefined) process.exitCode = 1;
  } catch (error) {
    if ((error as { code?: string }).code !== "SVC_CLI_NO_DAEMON") throw error;
    cli.print(`${id} was released; it is loaded at the next start.`, { id, loaded: false });
  }
}
