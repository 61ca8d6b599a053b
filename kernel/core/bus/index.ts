export { type Bus, type BusOptions, createBus, type Recent, type RecentQuery } from "./bus.ts";
export { commaList, type EnvelopeFilter, passes } from "./filters.ts";
export type { Root } from "./roots.ts";
