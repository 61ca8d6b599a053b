export * from "./tool-loop/daemon-tools.ts";
export * from "./tool-loop/loop.ts";
export * from "./tool-loop/loop-calls.ts";
export * from "./tool-loop/loop-tool.ts";
