import { type SvcError, svcError } from "@svc/sdk";

/** Channels that reach the operator's own devices: the first one that is there takes a notice for which no other is named. */
export const OWN: readonly string[] = ["push", "topicpush"];

/** The chat that stands for all of them. */
export const ALL_DEVICES = "default";

/** Needs the channel no chat? */
export const isOwn = (channel: string): boolean => OWN.includes(channel);

/** No channel is there that a notice could take. */
export const noChannel = (): SvcError =>
  svcError("SVC_NOTIFY_CHANNEL", `Neither ${OWN.join(" nor ")} is switched on: svc connect topicpush, or set notifications.channel.`, { status: 404 });

/** The channel is one on which a chat must be named. */
export const noChat = (channel: string): SvcError =>
  svcError("SVC_NOTIFY_CHAT", `A notice on ${channel} needs a chat: svc notify --chat <id>, or set notifications.destination.`, { status: 400 });
