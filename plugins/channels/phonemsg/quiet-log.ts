import type { Log } from "@svc/sdk";
import type { Vendor } from "./vendor.ts";

type VendorLog = NonNullable<Parameters<Vendor["default"]>[0]["logger"]>;

/**
 * What the vendor's library may log to. It tells its every step, with keys, nodes and texts in it: of all that only the sentence of an error
 * goes on, as a line for those who look for a fault.
 */
export function quietLog(log: Log): VendorLog {
  const mute = () => {};
  const quiet: VendorLog = {
    level: "silent",
    child: () => quiet,
    trace: mute,
    debug: mute,
    info: mute,
    warn: mute,
    error: (_facts: unknown, text?: string) => log.debug({ vendor: (text ?? "an error without words").slice(0, 200) }, "the protocol library reports an error"),
  };
  return quiet;
}
