export type { AgentTable } from "./agents.ts";
export { describeProblem } from "./configuration.ts";
export { ERRORS } from "./errors.ts";
export { createKernel, type Kernel, type KernelOptions } from "./kernel.ts";
export type * from "./port.ts";
