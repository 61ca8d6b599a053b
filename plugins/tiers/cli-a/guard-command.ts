import type { CommandGroup } from "@svc/sdk";

interface Entry {
  readonly at: number;
  readonly agent: string;
  readonly autonomy: string;
  readonly tool: string;
  readonly reason: string;
  readonly guard?: string;
}

/** `svc guard`: what restricted runs were refused, and what they would be. */
const group: CommandGroup = {
  name: "guard",
  summary: "What restricted runs may do, and what they were refused",
  commands: [
    {
      name: "log",
      args: "",
      summary: "The calls that were refused, newest last",
      options: [{ flags: "--limit <count>", description: "how many, 1 to 1000 (default 50)", number: { least: 1, most: 1000 } }],
      async run(_, { limit }, cli) {
        const { entries } = (await cli.request("GET", `/guard/log${limit === undefined ? "" : `?limit=${limit}`}`)) as {
          entries: readonly Entry[];
        };
        const lines = entries.map(({ at, agent, tool, reason, guard }) =>
          [new Date(at).toISOString(), agent, ...(guard === undefined ? [] : [guard]), tool, reason].join("  "),
        );
        cli.print(lines.length === 0 ? "Nothing was refused." : lines.join("\n"), { entries });
      },
    },
    {
      name: "check",
      args: "<agent> <autonomy> <command...>",
      summary: "Would this shell command be allowed?",
      async run([agent, autonomy, ...command], _, cli) {
        const answer = (await cli.request("POST", "/guard/check", { agent, autonomy, tool: "Bash", input: { command: command.join(" ") } })) as {
          decision: string;
          reason: string;
        };
        cli.print(answer.reason === "" ? answer.decision : `${answer.decision}: ${answer.reason}`, answer);
      },
    },
  ],
};

export default group;
