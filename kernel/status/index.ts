export { abilitiesOf } from "./agent-abilities.ts";
export { channelsOf, testChannelOf } from "./channel-status.ts";
export { healthOf } from "./health.ts";
export { pluginEvents } from "./plugin-events.ts";
export { createStatusEvents } from "./status-events.ts";
