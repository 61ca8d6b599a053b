import { type Cli, plain } from "../cli.ts";
import { fail } from "../errors.ts";
import { type Hearer, runTask } from "./run-task.ts";

/** Send a message and print the answer as it comes. */
export async function send(cli: Cli, agent: string, message: string, options: Readonly<Record<string, unknown>>): Promise<void> {
  const fresh = options.fresh ? { freshSession: true } : {};
  const { peer } = options;
  const body =
    peer === undefined
      ? { agent, message, ...fresh, context: { channel: "cli", chatId: String(options.chat ?? "cli") } }
      : { peer, agent, message, ...fresh, stream: true };
  let shown = "";
  const hear: Hearer = {
    queued: () => (cli.terminal ? cli.say("(waiting for an earlier turn)") : undefined),
    text(text) {
      shown += text;
      if (!cli.json) process.stdout.write(plain(text));
    },
  };
  const result = await runTask(cli, body, hear, peer === undefined ? "/task" : "/mesh/task");
  if (cli.json) cli.print("", result);
  else if (result.ok && !result.reply.startsWith(shown)) process.stdout.write(plain(`\n${result.reply}\n`));
  else process.stdout.write(plain(`${result.ok ? result.reply.slice(shown.length) : ""}\n`));
  if (!result.ok) throw fail("SVC_CLI_TASK_FAILED", { reason: result.error ?? result.status });
}
