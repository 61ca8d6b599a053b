import type { RunningTask } from "@svc/sdk";
import type { Cli } from "../cli.ts";
import type { OwnGroup } from "../group.ts";
import { ago, table } from "../table.ts";

const group: OwnGroup = {
  name: "task",
  summary: "Tasks that run or wait: list, show, cancel",
  commands: [
    {
      name: "list",
      anywhere: true,
      args: "",
      summary: "What runs and what waits now; what is over is in svc trace list",
      options: [{ flags: "--agent <id>", description: "only this agent's" }],
      run: (_args, options, cli) => list(cli, options.agent),
    },
    {
      name: "show",
      anywhere: true,
      args: "<id>",
      summary: "One task with its message, steps and answer, also one that is over",
      async run([id], _options, cli) {
        const { showTrace } = await import("./trace.js");
        await showTrace(cli, id as string);
      },
    },
    {
      name: "cancel",
      anywhere: true,
      args: "<id>",
      summary: "End a task that runs or waits, and with it those in the same turn",
      options: [{ flags: "--reason <text>", description: "why; who sent it is told" }],
      async run([id = ""], { reason }, cli) {
        const answer = await cli.request("POST", `/api/tasks/${encodeURIComponent(id)}/cancel`, reason === undefined ? {} : { reason: String(reason) });
        cli.print(`Task ${id} is cancelled.`, answer);
      },
    },
  ],
};

export default group;

async function list(cli: Cli, agent: unknown): Promise<void> {
  const answer = (await cli.request("GET", "/api/tasks")) as { running: readonly RunningTask[]; queued: readonly RunningTask[] };
  const wanted = (tasks: readonly RunningTask[], state: string) =>
    tasks.filter((task) => agent === undefined || task.agent === agent).map((task) => ({ ...task, state }));
  const tasks = [...wanted(answer.running, "running"), ...wanted(answer.queued, "queued")];
  const rows = tasks.flatMap(({ id, agent: whose, state, step, channel, chat, startedAt, with: others = [] }) => [
    [id, whose, state === "running" ? `running (${step})` : state, `${channel}:${chat}`, ago(Date.now() - startedAt)],
    ...others.map((other) => [other, whose, `in the turn of ${id}`, `${channel}:${chat}`, ""]),
  ]);
  cli.print(rows.length === 0 ? "No task runs or waits." : table([["ID", "AGENT", "STATE", "FROM", "AGE"], ...rows]), tasks);
}
