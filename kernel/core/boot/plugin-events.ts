import type { RootLog } from "../../base/log.ts";
import type { Bus } from "../bus/index.ts";
import type { HostEvents } from "../host/host.ts";

/** Tells log and bus what becomes of plugins. */
export function pluginEvents(log: RootLog, bus: Bus): HostEvents {
  const publish = (plugin: string, what: string, summary: string): void =>
    void bus.publish({ kind: "status", type: `plugin:${what}`, summary: `${plugin}: ${summary}`, data: { plugin } });
  return {
    failure(plugin, what, reason, breaker, error) {
      // Of an error that nobody caught the stack is all that tells where it came from.
      log.child(plugin).warn({ what, breaker, ...(what === "stray error" && error instanceof Error ? { err: error } : {}) }, reason);
      if (breaker !== "counted") publish(plugin, breaker, `${what} fails repeatedly and is switched off${breaker === "opened" ? " for a while" : ""}`);
    },
    broke(plugin, reason, error) {
      log.child(plugin).error(error instanceof Error ? { err: error } : {}, `it does not run: ${reason}`);
    },
    turned(plugin, what, reason) {
      log.child(plugin)[what === "up" ? "info" : "warn"]({ what }, reason);
      publish(plugin, what, reason);
    },
  };
}
