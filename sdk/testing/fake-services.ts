import type { Provided, SharedKind } from "../provided.ts";
import type { ServiceName, Services, ServiceTypes } from "../services.ts";
import { givenOf, type Registered } from "./registered.ts";

/** Creates `ctx.services` of a test: services passed by the test as other plugins', and those that the plugin itself has registered. */
export function createFakeServices(registered: Registered, given: Partial<ServiceTypes> = {}): Services {
  return {
    get: <N extends ServiceName>(name: N) => (given[name] ?? registered.services.find((one) => one.name === name)?.api) as ServiceTypes[N] | undefined,
    list: <K extends SharedKind>(kind: K): Provided[K][] => givenOf(registered, kind),
  };
}
