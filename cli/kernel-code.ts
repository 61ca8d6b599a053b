import { createRequire } from "node:module";

// Required, not imported: `import()` reads each of the 250 files on another thread, which costs a command 40 ms.
const require = createRequire(import.meta.url);

/** Loads the kernel into this process, for the commands that create one. */
export const kernelCode = (): typeof import("@svc/kernel") => require("@svc/kernel");

/** Loads what reads and changes svc.json and its packages: half of the kernel. */
export const offlineCode = (): typeof import("@svc/kernel/offline") => require("@svc/kernel/offline");
