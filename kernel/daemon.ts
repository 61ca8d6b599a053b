/* What a process that is the daemon loads: the kernel without what the command line alone needs. The rest is in index.ts. */

export { lockHolder } from "./base/folder-lock.ts";
export { createKernel } from "./core/boot/kernel.ts";
export type { Kernel, KernelOptions } from "./core/boot/options.ts";
export { blame } from "./core/host/call.ts";
export { unmarkLoading } from "./supply/quarantine.ts";
