import type { StatusPart } from "../core/boot/status-port.ts";

export { healthOf, lentHealth } from "./health.ts";
export { pluginEvents } from "./plugin-events.ts";
export { createStatusEvents } from "./status-events.ts";

/** As `StatusPart`; loaded with the first question. */
export const abilitiesOf: StatusPart["abilitiesOf"] = async (...args) => (await import("./agent-abilities.ts")).abilitiesOf(...args);
/** As `StatusPart`; loaded with the first question. */
export const channelsOf: StatusPart["channelsOf"] = async (...args) => (await import("./channel-status.ts")).channelsOf(...args);
/** As `StatusPart`; loaded with the first question. */
export const testChannelOf: StatusPart["testChannelOf"] = async (...args) => (await import("./channel-status.ts")).testChannelOf(...args);
