/* `@svc/sdk/host`: for programs that run plugins, not for plugins. */
export { CAPABILITIES, PERMISSIONS } from "./capabilities.ts";
export { whyNoChoices } from "./choices.ts";
export * from "./context.ts";
export { eventFault } from "./event-fault.ts";
export { PROVIDED, pluralOf, providedName, providedThing } from "./provided.ts";
export { createScopeTable, whyNoScope } from "./scopes.ts";
export { bindsSessions, enforcesAutonomy, keepsSessions, tierAbilities } from "./tier-abilities.ts";
export { endingStore, type WorkingScope, workingStore } from "./working-store.ts";
