import { codeOf, svcError } from "@svc/sdk";
import { muteLibraries } from "./quiet-console.ts";

/** The library that speaks the platform's protocol. */
export type Vendor = typeof import("@whiskeysockets/baileys");

/** Loads it when it is first needed. Throws `SVC_PHONEMSG_VENDOR` where this package was copied without what it depends on. */
export async function loadVendor(): Promise<Vendor> {
  muteLibraries();
  try {
    return await import("@whiskeysockets/baileys");
  } catch (error) {
    if (codeOf(error) !== "ERR_MODULE_NOT_FOUND") throw error;
    throw svcError(
      "SVC_PHONEMSG_VENDOR",
      "phonemsg is here without the libraries that it needs: install the package with svc plugin add, or run npm ci in its folder",
    );
  }
}
