import type { CallChat, CallSettings, HttpRequest } from "@svc/sdk";
import type { Place } from "./call-row.ts";
import { fail } from "./errors.ts";

/** `channels.webrtc.allowedCallers`: an empty list lets every peer call (CFG-15). This machine is no peer: its person may always call. */
export function mayCallIn(allowedCallers: readonly string[], peer: string | undefined): boolean {
  if (peer === undefined) return true;
  return allowedCallers.length === 0 || allowedCallers.includes(peer);
}

/** `calls.allow`: an empty list lets no agent ring (CFG-15). */
export function mayRing(allow: readonly string[], agent: string): boolean {
  return allow.includes(agent) || allow.includes("*");
}

/** Person or program that places a call, as the guards have established it. */
export interface Placer {
  /** A peer of the mesh; undefined for this machine. */
  readonly peer?: string;
  /** The agent whose task asks, where one does. */
  readonly task?: string;
}

/** The placer of a request. */
export const placerOf = ({ caller: { peer, task } }: Pick<HttpRequest, "caller">): Placer => ({
  ...(peer === undefined ? {} : { peer }),
  ...(task === undefined ? {} : { task: task.agent }),
});

/** A chat of the configuration, as deliveries name it. */
export const placeOf = ({ channel, chatId, accountId }: CallChat): Place => ({
  channel,
  chat: chatId,
  ...(accountId === undefined ? {} : { account: accountId }),
});

/** The chats that are rung for a name: `channel`, `channel:chat`, or without a name all of them. Throws `SVC_CALLS_PERSON`. */
export function placesOf({ ringNotify }: Pick<CallSettings, "ringNotify">, to: string | undefined, agents: readonly string[]): readonly Place[] {
  const found = ringNotify.filter(({ channel, chatId }) => to === undefined || to === channel || to === `${channel}:${chatId}`);
  if (found.length > 0) return found.map(placeOf);
  const chats = ringNotify.map(({ channel, chatId }) => `${channel}:${chatId}`).join(", ");
  throw fail("SVC_CALLS_PERSON", {
    to: to ?? "anybody",
    agents: agents.join(", ") || "none",
    chats: chats || "none, as channels.webrtc.ringNotify is not set",
  });
}
