import type { RootLog } from "../base/log.ts";
import type { Bus } from "../core/bus/index.ts";
import type { HostEvents } from "../core/host/host.ts";
import type { PluginIncident } from "../core/host/incident.ts";

/** Logs incidents of plugins, and publishes those that an operator should know at once. */
export function pluginEvents(log: RootLog, bus: Bus): HostEvents {
  const publish = (plugin: string, what: string, summary: string): void =>
    void bus.publish({ kind: "status", type: `plugin:${what}`, summary: `${plugin}: ${summary}`, data: { plugin } });
  return {
    incident(incident, error) {
      const { plugin, what, reason, consequence } = incident;
      const [level, text] = consequence === "failed" ? (["error", `it does not run: ${reason}`] as const) : (["warn", reason] as const);
      // For an uncaught error, only the stack shows its origin.
      const shown = error instanceof Error && (consequence === "failed" || what === "stray error");
      log.child(plugin)[level]({ what, consequence, ...(shown ? { err: error } : {}) }, text);
      const event = eventOf(incident);
      if (event !== undefined) publish(plugin, ...event);
    },
    recovered(plugin) {
      const reason = "its process is up again";
      log.child(plugin).info({ what: "up" }, reason);
      publish(plugin, "up", reason);
    },
  };
}

/** Returns the last part of the event's type, and the summary. Failures of plugins at a start are published once all are up. */
function eventOf({ what, reason, consequence }: PluginIncident): readonly [string, string] | undefined {
  switch (consequence) {
    case "counted":
      return undefined;
    case "opened":
      return ["opened", `${what} fails repeatedly and is switched off for a while`];
    case "disabled":
      return ["disabled", `${what} fails repeatedly and is switched off`];
    case "restarting":
      return ["down", reason];
    default:
      return what === "process" ? [consequence, reason] : undefined;
  }
}
