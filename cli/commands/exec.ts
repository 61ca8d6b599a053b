import { fail } from "../errors.ts";
import type { OwnGroup } from "../group.ts";

const group: OwnGroup = {
  name: "exec",
  summary: "Run one message to its end and print the answer alone, for scripts",
  commands: [
    {
      name: "exec",
      args: "<agent> <message...>",
      summary: "Run one message to its end and print the answer alone, for scripts; waits over a restart of the daemon",
      options: [
        {
          flags: "--timeout <minutes>",
          description: "how long the run may take, 1 to 240 (default: the agent's maxExecutionMinutes)",
          number: { least: 1, most: 240, whole: false },
        },
      ],
      async run([agent, ...words], options, cli) {
        const timeout = options.timeout === undefined ? {} : { timeoutMinutes: options.timeout };
        const body = { agent, message: words.join(" "), freshSession: true, ...timeout, context: { channel: "cli", chatId: "exec" } };
        const { runTask } = await import("../daemon/run-task.js");
        const result = await runTask(cli, body);
        cli.print(result.reply, result);
        if (!result.ok) throw fail("SVC_CLI_TASK_FAILED", { reason: result.error ?? result.status });
      },
    },
  ],
};

export default group;
