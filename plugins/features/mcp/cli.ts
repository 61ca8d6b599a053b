import { type CommandGroup, svcError } from "@svc/sdk";

const group: CommandGroup = {
  name: "mcp",
  summary: "Serve an agent's tools over stdio (for .mcp.json)",
  commands: [
    {
      name: "mcp",
      args: "",
      summary: "Serve an agent's tools over stdio; standard output carries protocol frames only",
      options: [{ flags: "--agent <id>", description: "the agent in whose name tools run" }],
      async run(_args, options, cli) {
        if (typeof options.agent !== "string" || options.agent === "") throw svcError("SVC_CLI_USAGE", "svc mcp needs --agent <id>; see svc agent list");
        const { serve } = await import("./server.js");
        await serve(options.agent, cli);
      },
    },
  ],
};

export default group;
