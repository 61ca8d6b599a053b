import { coversName, type PluginContext, type Turn } from "@svc/sdk";
import type { LocalSettings } from "./settings.ts";
import type { Library } from "./workspace.ts";

/** Runs a chat command and answers with its result as text. */
export async function command(ctx: PluginContext, library: Library, turn: Turn, text: string, signal: AbortSignal): Promise<string> {
  const [, name = "", rest = ""] = /^\/(\S*)\s*([\s\S]*)$/.exec(text) ?? [];
  switch (name) {
    case "help":
      return help(ctx, turn);
    case "actions": {
      const actions = allowed(ctx, turn);
      return actions.length === 0 ? none(turn) : actions.map(({ name: action, description }) => `${action}  ${description}`).join("\n");
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

/**
 * Returns the actions that the operator enabled for this agent. Senders are not authenticated here: a channel's users, HTTP callers and other agents
 * all use it, so only the operator may choose the actions. The operator has `svc actions run`.
 */
function allowed(ctx: PluginContext, { agent }: Turn): ReturnType<PluginContext["actions"]["list"]> {
  const { actions = [] } = (agent.settings.local ?? {}) as LocalSettings;
  return agent.access === "public" || actions.length === 0
    ? []
    : ctx.actions.list().filter(({ name, unusable }) => unusable === undefined && coversName(actions, name));
}

function none({ agent }: Turn): string {
  if (agent.access === "public") return `Agent ${agent.id} is public, so its senders run no actions; run them with svc actions run.`;
  return `No actions may be run from here. On its machine: svc actions run <action>. To allow some here, name them: svc config set agents.${agent.id}.local.actions '["http.fetch"]'`;
}

function help(ctx: PluginContext, turn: Turn): string {
  const actions = allowed(ctx, turn);
  const example = actions.some(({ name }) => name === EXAMPLE.action) ? `, for example: /run ${EXAMPLE.action} ${EXAMPLE.input}` : "";
  return [
    "/help  this list",
    ...(actions.length === 0 ? [] : ["/actions  the actions I can run", `/run <action> <json>  run one${example}`]),
    "/status  what I am and what I know",
    "Anything else is searched for in the workspace.",
  ].join("\n");
}

const EXAMPLE = { action: "file.read_lines", input: '{"path":"notes.txt"}' };

async function runAction(ctx: PluginContext, turn: Turn, rest: string, signal: AbortSignal): Promise<string> {
  const actions = allowed(ctx, turn);
  if (actions.length === 0) return none(turn);
  const [, action = "", json = ""] = /^(\S*)\s*([\s\S]*)$/.exec(rest) ?? [];
  if (action === "") return "Which action? Say /actions for the list, then /run <action> <json>.";
  if (!actions.some(({ name }) => name === action)) return `The action ${action} may not be run from here; say /actions for those that may.`;
  let input: unknown;
  try {
    input = json.trim() === "" ? {} : JSON.parse(json);
  } catch (error) {
    return `The input of /run must be JSON: ${(error as Error).message}`;
  }
  const envelope = await ctx.actions.run(action, input, { door: "agent", agent: turn.agent.id, taskId: turn.id, signal });
  return `\`\`\`json\n${JSON.stringify(envelope, null, 2)}\n\`\`\``;
}
