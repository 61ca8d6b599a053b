import type { Agent, Message, RunningTask, TaskEvent, TaskResult, Trace } from "@svc/sdk";
import { afterEach, beforeEach, expect, vi } from "vitest";
import { fail } from "../../base/errors.ts";
import { createBus } from "../../core/bus/index.ts";
import { deferred, peer, type Serving, serve, tableAuthority, token } from "../http.harness.ts";
import { kernelRoutes, type RoutesKernel } from "./index.ts";

export type Running = {
  message: Message;
  task: RunningTask;
  listen: (event: TaskEvent) => void;
  end: (result: Partial<TaskResult>) => void;
  result: Promise<TaskResult>;
};

/** A kernel in memory: tasks run until the test ends them, `echo` ends by itself. */
export function memoryKernel() {
  const bus = createBus({ node: "here", ringSize: 1000, onListenerError: (error) => expect.unreachable(String(error)) });
  const agent = (id: string): Agent => ({
    id,
    name: id.toUpperCase(),
    workspace: `/secret/${id}`,
    tier: "local",
    mentions: [id],
    access: "private",
    settings: {},
  });
  const agents = new Map(["echo", "slow"].map((id) => [id, agent(id)]));
  const live = new Map<string, Running>();
  const seen = new Map<string, string>();
  const traces: Trace[] = [];
  const state = { draining: false, defaultAgent: undefined as string | undefined, reload: undefined as Error | undefined, accepted: 0 };

  function start(message: Message, listen: (event: TaskEvent) => void = () => {}): Running {
    if (state.draining) throw fail("SVC_DAEMON_DRAINING");
    const known = message.dedupKey === undefined ? undefined : seen.get(message.dedupKey);
    if (known !== undefined) throw fail("SVC_TASK_DUPLICATE", { task: known });
    state.accepted += 1;
    const id = `task_${state.accepted}`;
    if (message.dedupKey !== undefined) seen.set(message.dedupKey, id);
    const settled = deferred<TaskResult>();
    const chosen = message.agent ?? "";
    const task = {
      id,
      agent: chosen,
      step: "classify",
      startedAt: 1,
      channel: message.channel,
      chat: message.chat,
      conversation: `${chosen}:${message.channel}:${message.chat}`,
    };
    const end = (result: Partial<TaskResult>) => {
      if (!live.delete(id)) return;
      const whole = { ok: true, taskId: id, agent: chosen, reply: "", status: "ok" as const, durationMs: 1, ...result };
      traces.push({
        id,
        rootId: "root",
        agent: chosen,
        channel: message.channel,
        chat: message.chat,
        conversation: task.conversation,
        entry: message.entry,
        status: whole.status,
        startedAt: 1,
        attempts: 1,
        steps: [],
        message: message.text,
        response: whole.reply,
      });
      settled.resolve(whole);
    };
    const running = { message, task, listen, end, result: settled.promise };
    live.set(id, running);
    listen({ type: "accepted", taskId: id, rootId: "root" });
    if (chosen === "echo") {
      queueMicrotask(() => {
        listen({ type: "started", taskId: id, agent: chosen });
        listen({ type: "text", text: message.text });
        end({ reply: message.text });
      });
    }
    return running;
  }

  const port: Omit<RoutesKernel, "capability" | "channels" | "restart" | "runTool" | "testChannel" | "tools"> = {
    node: { id: "here", name: "here" },
    nodes: () => expect.unreachable(),
    bus,
    strategies: () => ["layered", "planner"],
    agents: { get: (id) => agents.get(id), list: () => [...agents.values()] },
    tasks: {
      accept: async (message) => ({ taskId: start(message).task.id, rootId: "root", duplicate: false }),
      run: async (message, listen) => start(message, listen).result,
      async again(id, listen) {
        const running = live.get(id);
        const trace = traces.find((one) => one.id === id);
        if (running !== undefined && listen !== undefined) running.listen = listen;
        if (running !== undefined) return running.result;
        return trace && { ok: trace.status === "ok", taskId: id, agent: trace.agent, reply: trace.response ?? "", status: "ok", durationMs: 1 };
      },
      deliver: () => expect.unreachable(),
      async cancel(id) {
        const found = live.get(id);
        found?.end({ ok: false, status: "error", errorKind: "cancelled", error: "cancelled" });
        return found !== undefined;
      },
      async followup(id, { text, replace, sender }) {
        const found = live.get(id);
        if (found === undefined) return undefined;
        if (replace) found.end({ ok: false, status: "error", errorKind: "cancelled" });
        const next = start({ ...found.message, entry: "followup", text, ...(sender === undefined ? {} : { sender: { id: sender } }) });
        return { taskId: next.task.id, rootId: "root", duplicate: false };
      },
      running: () => [...live.values()].map(({ task }) => task),
      queued: () => [],
      result: () => expect.unreachable(),
      withheld: () => expect.unreachable(),
      release: () => expect.unreachable(),
      refuse: () => expect.unreachable(),
      closeChoices: () => expect.unreachable(),
    },
    traces: {
      get: async (id) => traces.find((trace) => trace.id === id),
      list: async ({ agent: of, limit = 100 } = {}) => traces.filter((trace) => of === undefined || trace.agent === of).slice(-limit),
      ids: () => expect.unreachable(),
    },
    get defaultAgent() {
      return state.defaultAgent;
    },
    health: () => ({
      ok: true,
      state: "running",
      node: { id: "here", name: "here" },
      version: "1.2.3",
      pid: 7,
      uptimeSeconds: 1,
      tasks: { running: live.size, queued: 0 },
      plugins: [],
      problems: [],
    }),
    async reload() {
      if (state.reload !== undefined) throw state.reload;
      return { reloaded: true, changed: ["agents.echo.model"], restartRequired: [], failed: [] };
    },
  };
  return { port, state, live, bus, traces };
}

/** A fresh kernel behind a fresh server for each test of the file. */
export function servedKernel() {
  let kernel: ReturnType<typeof memoryKernel>;
  let server: Serving;
  beforeEach(async () => {
    kernel = memoryKernel();
    server = await serve(kernelRoutes(kernel.port as RoutesKernel), {
      authorities: () => [tableAuthority({ mesh: peer("b"), scoped: token("dashboard:write", "agent:*") })],
    });
  });
  afterEach(() => server.close({ graceMs: 50 }));
  return {
    get kernel() {
      return kernel;
    },
    get server() {
      return server;
    },
    async call(path: string, init: RequestInit = {}) {
      const response = await fetch(`${server.url}${path}`, init);
      return { status: response.status, headers: response.headers, body: (await response.json()) as Record<string, unknown> };
    },
    only: () => [...kernel.live.values()][0] as Running,
    until: (holds: () => boolean) => vi.waitFor(() => expect(holds()).toBe(true), { interval: 1, timeout: 10_000 }),
  };
}

export const asJson = { accept: "application/json" };
