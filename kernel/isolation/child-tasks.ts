import type { PluginId, Tasks } from "@svc/sdk";
import type { ChildCalls } from "./child-calls.ts";
import { readError, type WireError } from "./frames.ts";
import { refused } from "./refused.ts";

/** The end of a delivery on the wire. */
type Ending = { readonly receipt: { readonly platformId: string } } | { readonly error: WireError };

/** `ctx.tasks` over the wire. */
export function remoteTasks(plugin: PluginId, { ask, keep }: ChildCalls): Tasks {
  /** How a delivery ends, as the daemon tells it. */
  function awaited() {
    let kept: ReturnType<ChildCalls["keep"]> | undefined;
    const sent = new Promise<{ platformId: string }>((resolve, reject) => {
      kept = keep((ending: Ending) => {
        kept?.forget();
        if ("receipt" in ending) resolve(ending.receipt);
        else reject(readError(ending.error, "in the daemon"));
      });
    });
    // Callers may ignore it: avoid an unhandled rejection.
    sent.catch(() => undefined);
    return { ...(kept as ReturnType<ChildCalls["keep"]>), sent };
  }

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
      const { n, forget, sent } = awaited();
      try {
        const { id } = await ask<{ id: string }>("tasks.deliver", { delivery, n });
        return { id, sent };
      } catch (error) {
        forget();
        throw error;
      }
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
