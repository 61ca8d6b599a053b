import type { FetchInit, FetchStreamInit, StreamingFetch } from "@svc/sdk";
import type { CapabilityScope, LoadedCapability } from "../../base/capability.ts";
import { isThisMachine } from "../../base/client-address.ts";
import { bare, isSeen } from "./hosts.ts";

/** The capability `fetch`. Its library is loaded with the first request: many plugins declare it, and few starts make one. */
export function fetchCapability(): LoadedCapability<StreamingFetch> {
  const trusting = whenUsed(false);
  const walled = whenUsed(true);
  return { make: (scope) => (scope.isolated ? seenOnly(pluginFetch(walled, scope.signal), scope) : pluginFetch(trusting, scope.signal)) };
}

/** Of the origins that an isolated plugin calls trusted, those are that the operator has seen. Those of this machine are refused by their own error. */
function seenOnly(fetch: StreamingFetch, scope: CapabilityScope): StreamingFetch {
  const seen = (origin: string) => {
    if (!URL.canParse(origin)) return false;
    const { protocol, hostname, port } = new URL(origin);
    const isOwn = hostname === "localhost" || isThisMachine(bare(hostname));
    return isOwn || isSeen(scope.network, scope.section, bare(hostname), Number(port) || (protocol === "https:" ? 443 : 80));
  };
  const checked = <Init extends FetchInit | FetchStreamInit>(init: Init): Init => ({ ...init, trustedOrigins: (init.trustedOrigins ?? []).filter(seen) });
  return Object.assign((url: string, init: FetchInit = {}) => fetch(url, checked(init)), {
    stream: (url: string, init: FetchStreamInit = {}) => fetch.stream(url, checked(init)),
  });
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
