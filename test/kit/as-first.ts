import { AsyncLocalStorage } from "node:async_hooks";
import { vi } from "vitest";

declare global {
  /** How the process began: its folder and its environment. */
  var svcBegan: { readonly cwd: string; readonly env: NodeJS.ProcessEnv; readonly storages: Set<AsyncLocalStorage<unknown>> } | undefined;
}

// Run before each file of a process that runs many of them: each finds it as the first one did, with modules of its own. Only what Node itself
// loads (packages, what is built) is shared.
globalThis.svcBegan ??= { cwd: process.cwd(), env: { ...process.env }, storages: storagesUsed() };
const { cwd, env, storages } = globalThis.svcBegan;
vi.resetModules();
vi.useRealTimers();
// On Node.js 20 the storages of all files before make every promise dearer: twenty of them by a factor of thirty.
for (const storage of storages) storage.disable();
storages.clear();
if (process.cwd() !== cwd) process.chdir(cwd);
process.exitCode = undefined;
for (const name of Object.keys(process.env)) if (!(name in env) && !name.startsWith("VITEST")) delete process.env[name];
Object.assign(process.env, env);

/** Collects the storages that run something from now on. */
function storagesUsed(): Set<AsyncLocalStorage<unknown>> {
  const used = new Set<AsyncLocalStorage<unknown>>();
  const { run } = AsyncLocalStorage.prototype;
  AsyncLocalStorage.prototype.run = function <R, A extends unknown[]>(
    this: AsyncLocalStorage<unknown>,
    store: unknown,
    work: (...args: A) => R,
    ...args: A
  ): R {
    used.add(this);
    return run.call(this, store, work as (...args: unknown[]) => unknown, ...args) as R;
  };
  return used;
}
