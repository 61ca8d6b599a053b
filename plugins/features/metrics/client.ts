import type { DaemonHealth } from "@svc/sdk";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

/** Counters and their output. */
export interface Measures {
  task(agent: string, status: string, durationMs: number): void;
  delivered(channel: string, result: string, count: number): void;
  /** In the text format of Prometheus; asks the daemon how it stands. */
  tell(): Promise<{ readonly text: string; readonly type: string }>;
}

const SECONDS = [1, 5, 15, 60, 300, 900, 3_600];

/** Of the process: memory, CPU, event loop. One for the process's life: its observers cannot be taken away. */
let ofProcess: Registry | undefined;

function processRegistry(): Registry {
  if (ofProcess === undefined) {
    ofProcess = new Registry();
    collectDefaultMetrics({ register: ofProcess });
  }
  return ofProcess;
}

/** Makes the metrics in a registry of their own; values that describe the present are read when they are asked for. */
export function createMeasures(health: () => DaemonHealth): Measures {
  const own = new Registry();
  const registers = [own];
  const gauge = <L extends string>(name: string, help: string, labelNames: readonly L[] = []) => new Gauge({ name, help, labelNames, registers });
  const tasks = new Counter({ name: "svc_tasks_total", help: "Tasks that ended, by agent and status", labelNames: ["agent", "status"], registers });
  const durations = new Histogram({ name: "svc_task_duration_seconds", help: "How long tasks took", labelNames: ["agent"], buckets: SECONDS, registers });
  const deliveries = new Counter({ name: "svc_deliveries_total", help: "Deliveries, by channel and result", labelNames: ["channel", "result"], registers });
  const running = gauge("svc_tasks_running", "Tasks that run now");
  const queued = gauge("svc_tasks_queued", "Tasks that wait");
  const ready = gauge("svc_ready", "1 while the daemon takes work and can keep it");
  const uptime = gauge("svc_uptime_seconds", "Since the daemon's start");
  const store = gauge("svc_store_bytes", "Size of the database on disk");
  const plugins = gauge("svc_plugin_state", "1 for the state that a plugin is in", ["plugin", "state"]);
  const failures = gauge("svc_plugin_failures", "Calls into a plugin that failed since it was set up", ["plugin"]);

  function look(): void {
    const now = health();
    running.set(now.tasks.running);
    queued.set(now.tasks.queued);
    ready.set(now.ok ? 1 : 0);
    uptime.set(now.uptimeSeconds);
    store.set(now.storeBytes ?? 0);
    plugins.reset();
    failures.reset();
    for (const { id, state, failures: count } of now.plugins) {
      plugins.set({ plugin: id, state }, 1);
      failures.set({ plugin: id }, count);
    }
  }

  return {
    task(agent, status, durationMs) {
      tasks.inc({ agent, status });
      durations.observe({ agent }, durationMs / 1_000);
    },
    delivered: (channel, result, count) => deliveries.inc({ channel, result }, count),
    async tell() {
      look();
      const parts = await Promise.all([own.metrics(), processRegistry().metrics()]);
      return { text: parts.join("\n"), type: own.contentType };
    },
  };
}
