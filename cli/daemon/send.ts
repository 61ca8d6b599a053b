import { type Cli, plain } from "../cli.ts";
import { coded, fail } from "../errors.ts";
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
  const result = await (peer === undefined ? runTask(cli, body, hear, "/task") : runTask(cli, body, hear, "/mesh/task").catch(explainNoMesh));
  if (cli.json) cli.print("", result);
  else if (result.ok && !result.reply.startsWith(shown)) process.stdout.write(plain(`\n${result.reply}\n`));
  else process.stdout.write(plain(`${result.ok ? result.reply.slice(shown.length) : ""}\n`));
  if (!result.ok) throw fail("SVC_CLI_TASK_FAILED", { reason: result.error ?? result.status });
}

function explainNoMesh(error: unknown): never {
  if ((error as { code?: unknown }).code !== "SVC_HTTP_NOT_FOUND") throw error;
  throw coded("SVC_CLI_MISSING", "This daemon has no peers: its mesh is off. Switch it on: svc config set mesh.enabled true");
}
