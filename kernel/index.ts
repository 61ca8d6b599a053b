export type { AgentTable } from "./agents.ts";
export { createFolder } from "./capabilities/files.ts";
export { describeProblem } from "./configuration.ts";
export { checkConfiguration, compareLastGood, type Editor, type EditorOptions, openEditor } from "./editor.ts";
export { ERRORS } from "./errors.ts";
export { createKernel, type Kernel, type KernelOptions } from "./kernel.ts";
export type * from "./port.ts";
export { lockHolder } from "./store/lock.ts";
