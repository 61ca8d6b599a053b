import type { Log } from "@svc/sdk";
import type { Vendor } from "./vendor.ts";

type VendorLog = NonNullable<Parameters<Vendor["default"]>[0]["logger"]>;

/** Log for the vendor's library. It logs its every step, with keys, nodes and texts: only the message of an error is forwarded, at debug level. */
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
