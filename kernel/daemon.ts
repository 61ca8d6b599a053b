/* What a process that is the daemon loads: the kernel without what the command line alone needs. The rest is in index.ts. */
export { blame } from "./host/call.ts";
export { unmarkLoading } from "./host/quarantine.ts";
export { createKernel } from "./kernel.ts";
export type { Kernel, KernelOptions } from "./options.ts";
export { lockHolder } from "./store/lock.ts";
