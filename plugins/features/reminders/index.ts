import { reminders } from "./plugin.ts";

/** Items of the reminders app that start agents (001:L214), on macOS. */
export default reminders();
