export { checkDatabase } from "./database.ts";
export { SCHEMA_VERSION, TRACES } from "./migrations.ts";
export * from "./open.ts";
