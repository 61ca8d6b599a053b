import { createInterface } from "node:readline/promises";
import { type Cli, oneLine } from "../cli.ts";
import { fail } from "../errors.ts";

/** Requires a confirmation: `--yes`, or the person at the terminal. Throws `SVC_CLI_UNCONFIRMED` without one. */
export async function requireYes(cli: Cli, question: string, options: Readonly<Record<string, unknown>>): Promise<void> {
  if (options.yes === true) return;
  if (!cli.terminal || process.stdin.isTTY !== true) throw fail("SVC_CLI_UNCONFIRMED", { what: question });
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await lines.question(`${oneLine(question)} [y/N] `);
    if (!/^y(es)?$/i.test(answer.trim())) throw fail("SVC_CLI_UNCONFIRMED", { what: question });
  } finally {
    lines.close();
  }
}
