import type { CallMedia, Services } from "@svc/sdk";
import { fail } from "./errors.ts";

/** The media of calls; throws `SVC_CALLS_MEDIA` where no channel serves it. */
export function mediaOf(services: Services): CallMedia {
  const media = services.get("call-media");
  if (media === undefined) throw fail("SVC_CALLS_MEDIA");
  return media;
}
