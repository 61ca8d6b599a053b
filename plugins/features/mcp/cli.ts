import type { CommandGroup } from "@svc/sdk";

const group: CommandGroup = {
  name: "mcp",
  summary: "Serve an agent's tools over stdio (for .mcp.json)",
  commands: [
    {
      name: "mcp",
      args: "",
      summary: "Serve an agent's tools over stdio; standard output carries protocol frames only",
      options: [{ flags: "--agent <id>", description: "the agent in whose name tools run; see svc agent list", required: true }],
      async run(_args, options, cli) {
        const { serve } = await import("./server.js");
        await serve(String(options.agent), cli);
      },
    },
  ],
};

export default group;
