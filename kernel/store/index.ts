export * from "./atomic.ts";
export { checkDatabase } from "./database.ts";
export * from "./lock.ts";
export { SCHEMA_VERSION, TRACES } from "./migrations.ts";
export * from "./open.ts";
