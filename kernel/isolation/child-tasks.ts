import type { PluginId, Tasks } from "@svc/sdk";
import type { ChildCalls } from "./child-calls.ts";
import { refused } from "./refused.ts";

/** `ctx.tasks` over the wire. */
export function remoteTasks(plugin: PluginId, { ask, keep }: ChildCalls): Tasks {
  return {
    accept: (message) => ask("tasks.accept", { message }),
    async run(message, listen, signal) {
      const heard = listen === undefined ? undefined : keep(listen);
      try {
        return await ask("tasks.run", { message, ...(heard === undefined ? {} : { n: heard.n }) }, signal);
      } finally {
        heard?.forget();
      }
    },
    result: (task, signal, listen) =>
      listen === undefined ? ask("tasks.result", { id: task }, signal) : Promise.reject(refused(plugin, "a listener of tasks.result")),
    async deliver(delivery) {
      const { id, n } = await ask<{ id: string; n: number }>("tasks.deliver", { delivery });
      const sent = ask<{ platformId: string }>("tasks.sent", { n });
      // Callers may ignore `sent`: avoid an unhandled rejection.
      sent.catch(() => undefined);
      return { id, sent };
    },
    cancel: (task, reason) => ask("tasks.cancel", { id: task, reason }),
    followup: (task, message) => ask("tasks.followup", { id: task, message }),
    withheld: () => Promise.reject(refused(plugin, "tasks.withheld")),
    release: () => Promise.reject(refused(plugin, "tasks.release")),
    closeChoices: () => Promise.reject(refused(plugin, "tasks.closeChoices")),
    refuse: () => Promise.reject(refused(plugin, "tasks.refuse")),
    running: () => {
      throw refused(plugin, "tasks.running");
    },
    queued: () => {
      throw refused(plugin, "tasks.queued");
    },
  };
}
