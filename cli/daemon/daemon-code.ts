import { createRequire } from "node:module";

/**
 * Loads the code that runs the daemon in this process. Required, not imported: it is more than a hundred files, and `import()` reads each of them on
 * another thread and creates a hundred promises for it.
 */
export const daemonCode = (): typeof import("./run.ts") => createRequire(import.meta.url)("./run.js");
