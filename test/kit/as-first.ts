import { vi } from "vitest";

declare global {
  /** How the process began: its folder and its environment. */
  var svcBegan: { readonly cwd: string; readonly env: NodeJS.ProcessEnv } | undefined;
}

// Run before each file of a process that runs many of them: each finds it as the first one did, with modules of its own. Only what Node itself
// loads (packages, what is built) is shared.
globalThis.svcBegan ??= { cwd: process.cwd(), env: { ...process.env } };
const { cwd, env } = globalThis.svcBegan;
vi.resetModules();
vi.useRealTimers();
if (process.cwd() !== cwd) process.chdir(cwd);
process.exitCode = undefined;
for (const name of Object.keys(process.env)) if (!(name in env) && !name.startsWith("VITEST")) delete process.env[name];
Object.assign(process.env, env);
