import { sleep, svcError } from "@svc/sdk";
import type { Pairing } from "./pair-routes.ts";

/** Output to the person at the terminal. */
export interface Talk {
  /** Returns the current state of the pairing. */
  look(): Promise<Pairing>;
  say(text: string): void;
  readonly signal?: AbortSignal;
}

const LOOK_MS = 500;
/** The platform shows its pictures for some three minutes in all. */
const LONGEST_MS = 300_000;

/** Shows each new picture or the code until the phone has linked this device; resolves with the number. Throws `SVC_PHONEMSG_PAIRING` when it ends otherwise. */
export async function talkThrough({ look, say, signal }: Talk): Promise<string> {
  let shown: string | undefined;
  for (const began = Date.now(); Date.now() - began < LONGEST_MS && signal?.aborted !== true; ) {
    const { state, qr, code, number, reason } = await look();
    if (state === "open") return number ?? "";
    if (state === "unpaired") throw svcError("SVC_PHONEMSG_PAIRING", reason ?? "the pairing has ended");
    const fresh = qr ?? code;
    if (fresh !== undefined && fresh !== shown) {
      shown = fresh;
      if (qr !== undefined) {
        const { pictureOf } = await import("./qr.js");
        say(`On the phone: Settings, Linked devices, Link a device. Scan this; it changes after a while:\n\n${await pictureOf(qr)}\n`);
      } else
        say(`On the phone: Settings, Linked devices, Link a device, Link with phone number instead. Type this code: ${code?.slice(0, 4)}-${code?.slice(4)}\n`);
    }
    await sleep(LOOK_MS, signal);
  }
  throw svcError("SVC_PHONEMSG_PAIRING", "the phone has not linked this device in time; begin again with: svc phonemsg pair");
}
