/* Entry of a daemon's process: the kernel without the parts for the command line. The rest is in index.ts. */

// Every daemon needs these. A static import loads them at once; an `import()` reads each file on another thread, and creates a hundred promises for
// it, which carry a scope as soon as a plugin has run.
import "./capabilities/files/files.ts";
import "./capabilities/processes/spawn.ts";
import "./capabilities/processes/warm.ts";
import "./editor/exposure.ts";
import "./http/index.ts";
import "./http/serving.ts";
import "./isolation/own-sockets.ts";
import "./maintenance/restart.ts";
import "./maintenance/workspaces.ts";
import "./status/index.ts";

export { lockHolder } from "./base/folder-lock.ts";
export type { Kernel } from "./core/boot/kernel-api.ts";
export { blame } from "./core/host/call.ts";
export { createKernel, type KernelOptions } from "./create-kernel.ts";
export { unmarkLoading } from "./supply/quarantine.ts";
