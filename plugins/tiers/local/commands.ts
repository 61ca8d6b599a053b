import type { PluginContext, Turn } from "@svc/sdk";
import type { Library } from "./workspace.ts";

/** Carries out a chat command and answers in words. */
export async function command(ctx: PluginContext, library: Library, turn: Turn, text: string, signal: AbortSignal): Promise<string> {
  const [, name = "", rest = ""] = /^\/(\S*)\s*([\s\S]*)$/.exec(text) ?? [];
  switch (name) {
    case "help":
      return [
        "/help  this list",
        "/actions  the actions I can run",
        '/run <action> <json>  run one, for example: /run file.read_lines {"path":"notes.txt"}',
        "/status  what I am and what I know",
        "Anything else is searched for in the workspace.",
      ].join("\n");
    case "actions": {
      const actions = ctx.actions.list();
      return actions.length === 0 ? "No actions are loaded." : actions.map(({ name: action, description }) => `${action}  ${description}`).join("\n");
    }
    case "run":
      return runAction(ctx, turn, rest, signal);
    case "status": {
      const { agent } = turn;
      const { files, passages } = await library.open(agent.workspace);
      return [
        `agent ${agent.id} (${agent.name})`,
        "tier local: searches the workspace, is no language model",
        `workspace ${agent.workspace}: ${files} files, ${passages} passages`,
        `agents here: ${ctx.agents
          .list()
          .map(({ id }) => id)
          .join(", ")}`,
      ].join("\n");
    }
    default:
      return `There is no command /${name}; say /help for the list.`;
  }
}

async function runAction(ctx: PluginContext, turn: Turn, rest: string, signal: AbortSignal): Promise<string> {
  // Whoever holds a token may talk to a public agent: what it does must be the operator's choice, not the sender's.
  if (turn.agent.access === "public") return `Agent ${turn.agent.id} is public, so its senders run no actions; run them with svc actions run.`;
  const [, action = "", json = ""] = /^(\S*)\s*([\s\S]*)$/.exec(rest) ?? [];
  if (action === "") return "Which action? Say /actions for the list, then /run <action> <json>.";
  let input: unknown;
  try {
    input = json.trim() === "" ? {} : JSON.parse(json);
  } catch (error) {
    return `The input of /run must be JSON: ${(error as Error).message}`;
  }
  const envelope = await ctx.actions.run(action, input, { door: "agent", agent: turn.agent.id, taskId: turn.id, signal });
  return `\`\`\`json\n${JSON.stringify(envelope, null, 2)}\n\`\`\``;
}
