import { useConnection } from "./live.ts";
import { type Resource, useResource } from "./resource.ts";

/** Answer of `GET /api/me`: the caller, their rights, and the features of this dashboard. */
export interface Me {
  readonly node: string;
  readonly version: string;
  /** Why the daemon behind this dashboard cannot be asked. */
  readonly problem?: string;
  /** The daemon is stopped, but its svc.json can be changed here. */
  readonly offline?: { readonly file: string };
  /** The token that was given; absent where this machine needs none. */
  readonly token?: { readonly name: string };
  readonly may: { readonly read: boolean; readonly write: boolean };
  /** Features besides agents and tasks. */
  readonly has: { readonly boards: boolean; readonly workflows: boolean; readonly editor: boolean; readonly presence: boolean };
  /** The others that can be shown here. */
  readonly daemons: readonly { readonly name: string; readonly url: string }[];
}

/** The user of the page, and the features of the shown daemon. */
export function useMe(): Resource<Me> {
  return useResource<Me>("/api/me");
}

/** Data of this dashboard itself, whichever daemon is shown: the daemons of the menu. */
export function useOwnMe(): Resource<Me> {
  return useResource<Me>("/api/me?own", { here: true });
}

/** Whether the person may do what the scope is for (`dashboard:read`, `dashboard:write`). Unknown yet counts as yes for reading alone. */
export function useMay(scope: string): boolean {
  const { data } = useMe();
  return scope === "dashboard:read" ? (data?.may.read ?? true) : (data?.may.write ?? false);
}

/** Whether a change can be made now, and why not: no right, or no connection. Of use as `disabledWhy` of a button. */
export function useWriting(): { readonly allowed: boolean; readonly why?: string } {
  const may = useMay("dashboard:write");
  const { data } = useMe();
  const { state } = useConnection();
  if (state === "lost") return { allowed: false, why: "Not connected: nothing can be changed." };
  return may || data === undefined ? { allowed: true } : { allowed: false, why: "This token may read only. Changing needs dashboard:write." };
}

/** As `useWriting`, for svc.json: that of a stopped daemon of this machine can be changed, too. */
export function useWritingSettings(): ReturnType<typeof useWriting> & { readonly stopped: boolean } {
  const writing = useWriting();
  const { data } = useMe();
  const stopped = useConnection().state === "lost" && data?.offline !== undefined;
  return stopped && data?.may.write === true ? { allowed: true, stopped } : { ...writing, stopped };
}
