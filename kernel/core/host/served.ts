import { type Models, reasonOf, type ServiceTypes, tierFailure } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import type { HostedPlugin } from "./hosted-plugin.ts";
import type { Live } from "./live.ts";
import type { Scope } from "./scope.ts";

/** Returns the service provided under that name. Throws `SVC_SERVICE_MISSING`, which names the asking plugin and the next step. */
export function requireServed<K extends keyof ServiceTypes>(name: K, asker: Scope, live: Live, plugins: readonly HostedPlugin[]): ServiceTypes[K] {
  const owned = live.services.get(name);
  if (owned === undefined) throw fail("SVC_SERVICE_MISSING", { plugin: asker.id, service: name, next: adviceFor(name, plugins) });
  return owned.thing.api as ServiceTypes[K];
}

function adviceFor(name: string, plugins: readonly HostedPlugin[]): string {
  const server = plugins.find(({ source: { manifest } }) => manifest?.serves?.some((served) => served === name));
  if (server === undefined) return "add a plugin that does";
  return server.state === "disabled" ? `${server.id} would: take "!${server.id}" out of plugins` : `${server.id} would: see svc plugin list`;
}

/** Creates `ctx.models` of one plugin. `find` looks up the service of another plugin at each call; it throws if there is none. */
export function servedModels(find: () => Models): Models {
  return {
    extract: async (request) => find().extract(request),
    async *stream(call) {
      let models: Models;
      try {
        models = find();
      } catch (error) {
        yield tierFailure("request", reasonOf(error));
        return;
      }
      yield* models.stream(call);
    },
    async usable(agent) {
      try {
        return await find().usable(agent);
      } catch (error) {
        return { ok: false, detail: reasonOf(error) };
      }
    },
  };
}
