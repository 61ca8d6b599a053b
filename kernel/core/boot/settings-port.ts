import type { Capability, Settings } from "@svc/sdk";
import type { RootLog } from "../../base/log.ts";
import type { Bus } from "../bus/bus.ts";
import type { ConfigDocument } from "../config/document.ts";
import type { Host } from "../host/host.ts";
import type { ReloadReport } from "./kernel-api.ts";
import type { CoreOptions } from "./options.ts";

/** Plugin that uses the capability `settings`. */
export interface SettingsAsker {
  readonly id: string;
  declares(capability: Capability): boolean;
}

/** Dependencies of changing svc.json under a running kernel. */
export interface SettingsDeps {
  /** Undefined for a configuration passed in code. */
  readonly file: string | undefined;
  readonly dataFolder: string;
  readonly host: Host;
  readonly log: Pick<RootLog, "info">;
  readonly bus: { publish(event: Parameters<Bus["publish"]>[0]): unknown };
  /** A text as the kernel would read it now. Throws `SVC_CONFIG_*`. */
  open(text: string): ConfigDocument;
  reload(): Promise<ReloadReport>;
  /** As `CoreOptions.offered`. */
  readonly offered?: CoreOptions["offered"] | undefined;
}

/** The room that changes svc.json. */
export interface SettingsPart {
  createSettings(deps: SettingsDeps): (asker: SettingsAsker) => Settings;
}
