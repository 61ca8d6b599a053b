import type { PluginContext, RunningTask, Trace } from "@svc/sdk";
import type { Daemon } from "./daemon.ts";
import { fail } from "./errors.ts";
import { previewOf } from "./preview.ts";

/** Traces that are in memory as a whole at one time. */
const PAGE = 50;

/** What a list shows of it: its texts may be long, and a thousand of them are more than the memory holds. */
function brief({ message, response: _response, steps: _steps, ...rest }: Trace): Trace {
  return { ...rest, steps: [], ...(message === undefined ? {} : { messagePreview: rest.messagePreview ?? previewOf(message) }) };
}

/** The daemon that the dashboard runs in: asked directly, without a request to ourselves. */
export function createThisDaemon({ node, agents, tasks, traces }: Pick<PluginContext, "node" | "agents" | "tasks" | "traces">, url: string): Daemon {
  return {
    name: node.name,
    url,
    async agents() {
      const running = byAgent(tasks.running());
      const queued = byAgent(tasks.queued());
      return agents.list().map(({ id, name, tier, model, access, mentions }) => {
        const runningTasks = running.get(id) ?? [];
        return { id, name, tier, model, access, mentions, active: runningTasks.length, queued: queued.get(id)?.length ?? 0, runningTasks };
      });
    },
    async history({ limit = PAGE, ...query }) {
      const found: Trace[] = [];
      for (let page: readonly Trace[] = []; found.length < limit; ) {
        const last = page.at(-1)?.id;
        page = await traces.list({ ...query, limit: Math.min(PAGE, limit - found.length), ...(last === undefined ? {} : { below: last }) });
        found.push(...page.map(brief));
        if (page.length < PAGE) break;
      }
      return found;
    },
    run({ agent, text, chat, sender, token }) {
      const from = sender === undefined ? {} : { sender: { id: sender } };
      return tasks.run({ entry: "public", channel: "public-api", account: token, chat, text, agent, ...from });
    },
    async act({ task, kind, body }) {
      if (kind === "cancel") {
        if (!(await tasks.cancel(task, body.reason))) throw fail("SVC_DASHBOARD_TASK_UNKNOWN", { task });
        return { status: 200, body: { ok: true, taskId: task } };
      }
      const { message, replace = false, sender } = body;
      if (message === undefined) throw fail("SVC_DASHBOARD_MESSAGE", { path: "message", field: "message" });
      const accepted = await tasks.followup(task, { text: message, replace, ...(sender === undefined ? {} : { sender }) });
      if (accepted === undefined) throw fail("SVC_DASHBOARD_TASK_UNKNOWN", { task });
      return { status: 200, body: { ok: true, taskId: accepted.taskId, rootId: accepted.rootId, replaced: replace } };
    },
  };
}

function byAgent(tasks: readonly RunningTask[]): Map<string, Omit<RunningTask, "agent">[]> {
  const lists = new Map<string, Omit<RunningTask, "agent">[]>();
  for (const { agent, node, ...task } of tasks) if (node === undefined) lists.set(agent, [...(lists.get(agent) ?? []), task]);
  return lists;
}
