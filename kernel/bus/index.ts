export { type Bus, type BusOptions, createBus, type RecentQuery, type Root } from "./bus.ts";
export { createFanOut, type FanOut, type FanOutStream } from "./fan-out.ts";
export { commaList, type EnvelopeFilter, passes } from "./filters.ts";
