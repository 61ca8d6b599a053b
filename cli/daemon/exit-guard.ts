import { blame } from "@svc/kernel/daemon";
import { fail } from "../errors.ts";

/**
 * Keeps plugin code from ending the daemon: `process.exit` and its kin throw `SVC_CLI_PLUGIN_EXIT` where a plugin's code calls them.
 * Returns the way out that is never refused.
 */
export function guardExit(): (code: number) => never {
  let ending = false;
  for (const call of ["exit", "reallyExit", "abort"] as const) {
    const original = (process as unknown as Record<string, (...args: unknown[]) => unknown>)[call]?.bind(process);
    const guarded = (...args: unknown[]): unknown => {
      const plugin = ending ? undefined : blame();
      if (plugin !== undefined) throw fail("SVC_CLI_PLUGIN_EXIT", { plugin, call: `process.${call}` });
      return original?.(...args);
    };
    Object.defineProperty(process, call, { value: guarded, configurable: true, writable: true });
  }
  return (code) => {
    ending = true;
    process.exit(code);
  };
}
