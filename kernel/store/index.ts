export * from "../base/atomic-file.ts";
export * from "../base/folder-lock.ts";
export { ensureInstance, requireMeant } from "../base/instance.ts";
export { INSTANCE } from "../base/instance-mark.ts";
export { checkDatabase } from "./database.ts";
export { driven } from "./driven.ts";
export { SCHEMA_VERSION, TRACES } from "./migrations.ts";
export * from "./open.ts";
