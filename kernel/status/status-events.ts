import type { RootLog } from "../base/log.ts";
import type { StatusEvents } from "../core/boot/status-port.ts";
import type { Bus } from "../core/bus/index.ts";
import { isDown } from "./health.ts";

const PATHS_SHOWN = 20;

/** Creates the reporter of a kernel's lifecycle to log and bus. */
export function createStatusEvents(log: RootLog, bus: Bus, name: string): StatusEvents {
  const publish = (summary: string, data: Record<string, unknown>) => void bus.publish({ kind: "status", type: "status", summary, data });
  return {
    starting: (facts) => log.info({ ...facts, pid: process.pid }, "starting"),
    listening: ({ host, port }) => log.info({ address: `${host.includes(":") ? `[${host}]` : host}:${port}` }, "listening"),
    plugins(statuses) {
      const running = statuses.filter(({ state }) => state === "running");
      const down = statuses.filter(isDown);
      log.info({ running: running.length, ...(down.length === 0 ? {} : { down: down.map(({ id }) => id) }) }, "plugins are up");
    },
    crashed: () => log.warn("the daemon did not end cleanly the last time: it crashed or was killed"),
    running({ resumed, reported, startMs }, plugins) {
      if (resumed > 0) log.info({ tasks: resumed }, "unfinished tasks of the last run are taken up again");
      if (reported > 0) log.warn({ tasks: reported }, "unfinished tasks of the last run were not taken up again; who sent them was told");
      log.info({ startMs }, "up");
      publish(`${name} started`, { state: "running", resumed, reported });
      for (const { id, state, reason } of plugins.filter(isDown))
        bus.publish({ kind: "status", type: `plugin:${state}`, summary: `${id} ${state}: ${reason}`, data: { plugin: id } });
    },
    reloaded({ changed, restartRequired, failed }) {
      const facts = { changed: changed.slice(0, PATHS_SHOWN), changes: changed.length };
      const waits = restartRequired.length === 0 ? {} : { waitsForRestart: restartRequired };
      // The reason was logged with its stack when it happened.
      const down = failed.length === 0 ? {} : { failed: failed.map(({ plugin }) => plugin) };
      log.info({ ...facts, ...waits, ...down }, "configuration reloaded");
      publish(`configuration reloaded: ${changed.length} changes`, { state: "running", changed, restartRequired });
    },
    refused: (error) => log.warn({ err: error }, "reload refused; the running configuration stays"),
    stopped: () => log.info("stopped"),
  };
}
