import type { Authority } from "@svc/sdk";
import { isBearer } from "./device.ts";
import type { Devices } from "./devices.ts";

/** Knows phones by what they were given when they were added: good for their own registration and what was pushed, and nothing else. */
export function deviceAuthority(devices: () => Devices | undefined): Authority {
  return {
    name: "push.devices",
    async verify(bearer) {
      if (!isBearer(bearer)) return undefined;
      const device = await devices()?.ofBearer(bearer);
      return device === undefined ? undefined : { kind: "token", id: device.id, name: device.name, scopes: ["push:device"], family: "push" };
    },
  };
}
