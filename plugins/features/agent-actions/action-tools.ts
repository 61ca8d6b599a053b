import { type Actions, type AgentTool, coversName, type PluginContext } from "@svc/sdk";
import { patternsOf } from "./allowed.ts";
import { createCalls } from "./calls.ts";

/** The part of the context that this plugin uses. */
export type Borrowed = Pick<PluginContext, "actions" | "agents" | "log" | "services" | "store" | "tasks" | "traces">;

/** The actions of agents as tools. */
export interface ActionTools {
  of(agent: string): readonly AgentTool[];
  /** Ends what still runs. */
  stop(): void;
}

/** An action as the catalogue shows it. */
export type ListedAction = ReturnType<Actions["list"]>[number];

const RESULT_TOOL = "svc_task_result";
/** Longest name that programs take. */
const LONGEST_NAME = 64;

/** Makes the tools of all agents; each call is judged, timed and traced by the daemon. */
export function createActionTools(ctx: Borrowed): ActionTools {
  const calls = createCalls(ctx);

  const toolOf = (name: string, action: ListedAction): AgentTool => ({
    name,
    action: action.name,
    description: action.description,
    input: action.input,
    run: (input, call) => calls.run(action, input, call),
  });

  const result: AgentTool = {
    name: RESULT_TOOL,
    description: `Asks for the result of a call that was answered with {"task", "status": "running"}; waits for it some seconds. Ask again while it is still running, or end your turn and ask when you are next spoken to.`,
    input: {
      type: "object",
      additionalProperties: false,
      required: ["task"],
      properties: { task: { type: "string", description: "as it was answered", minLength: 1, maxLength: 200 } },
    },
    run: ({ task }, call) => calls.result(String(task), call),
  };

  return {
    of(id) {
      const agent = ctx.agents.get(id);
      const patterns = agent === undefined ? [] : patternsOf(agent);
      const usable = patterns.length === 0 ? [] : ctx.actions.list().filter(({ name, unusable }) => unusable === undefined && coversName(patterns, name));
      if (usable.length === 0) return [];
      const named = new Map([[RESULT_TOOL, result]]);
      for (const action of [...usable].sort((left, right) => (left.name < right.name ? -1 : 1))) {
        const name = freeName(action.name, named);
        named.set(name, toolOf(name, action));
      }
      return [...named.values()];
    },
    stop: () => calls.stop(),
  };
}

/** A name that every program takes: letters, digits, `_` and `-`. */
function freeName(action: string, taken: ReadonlyMap<string, unknown>): string {
  const plain = action.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, LONGEST_NAME);
  let name = plain;
  for (let copy = 2; taken.has(name); copy += 1) name = `${plain.slice(0, LONGEST_NAME - 4)}_${copy}`;
  return name;
}
