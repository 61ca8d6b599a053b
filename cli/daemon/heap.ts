import { setFlagsFromString } from "node:v8";

/**
 * Options of Node.js for a daemon that this program starts itself; `svc.service` and the container file name them too. A turn leaves little
 * behind: a young generation of 8 MB instead of 32 holds it.
 */
export const NODE_OPTIONS = ["--max-semi-space-size=4"] as const;

/**
 * Old objects may double before they are collected; by default V8 waits until there are four times as many, which a daemon with 20 MB of
 * live objects reaches within seconds of work and then keeps. Can be set while the process runs, unlike the options above.
 */
export function keepHeapSmall(): void {
  setFlagsFromString("--heap-growing-percent=100");
}
