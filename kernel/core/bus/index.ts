export { type Bus, type BusOptions, createBus, type Recent, type RecentQuery } from "./bus.ts";
export { createFanOut, type FanOut, type FanOutStream } from "./fan-out.ts";
export { commaList, type EnvelopeFilter, passes } from "./filters.ts";
export type { Root } from "./roots.ts";
