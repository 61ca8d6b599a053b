/* The default store, from its sources: the one place where tests of other rooms take it from. */

export { openStore, type SqliteStore } from "../../plugins/stores/sqlite/open.ts";
export { sinceBoot } from "../../plugins/stores/sqlite/steady-clock.ts";
