export * from "./atomic.ts";
export { checkDatabase } from "./database.ts";
export { driven, type StateStore } from "./driven.ts";
export { ensureInstance, requireMeant } from "./instance.ts";
export { INSTANCE } from "./instance-mark.ts";
export * from "./lock.ts";
export { SCHEMA_VERSION, TRACES } from "./migrations.ts";
export * from "./open.ts";
