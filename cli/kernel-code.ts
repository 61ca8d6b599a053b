import { createRequire } from "node:module";

/**
 * Loads the kernel into this process, for the commands that need it. Required, not imported: `import()` reads each of its 250 files on another thread,
 * which costs a command 40 ms.
 */
export const kernelCode = (): typeof import("@svc/kernel") => createRequire(import.meta.url)("@svc/kernel");
