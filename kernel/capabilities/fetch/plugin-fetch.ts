import type { StreamingFetch } from "@svc/sdk";
import type { LoadedCapability } from "../../base/capability.ts";

/** The capability `fetch`. Its library is loaded with the first request: many plugins declare it, and few starts make one. */
export function fetchCapability(): LoadedCapability<StreamingFetch> {
  const trusting = whenUsed(false);
  const walled = whenUsed(true);
  return { make: ({ isolated, signal }) => pluginFetch(isolated ? walled : trusting, signal) };
}

/** The guarded fetch for a program beside the daemon; streams end with `signal`. */
export const openFetch = (signal: AbortSignal): StreamingFetch => pluginFetch(whenUsed(false), signal);

function whenUsed(isolated: boolean): () => Promise<StreamingFetch> {
  let loading: Promise<StreamingFetch> | undefined;
  return () => (loading ??= import("./fetch.ts").then(({ createFetch }) => createFetch({ isolated })));
}

/** Fetch of a plugin whose streams may last as long as the plugin. */
function pluginFetch(fetch: () => Promise<StreamingFetch>, end: AbortSignal): StreamingFetch {
  const whole = async (...request: Parameters<StreamingFetch>) => (await fetch())(...request);
  return Object.assign(whole, {
    stream: async (...[url, init = {}]: Parameters<StreamingFetch["stream"]>) =>
      (await fetch()).stream(url, { ...init, signal: init.signal === undefined ? end : AbortSignal.any([end, init.signal]) }),
  });
}
