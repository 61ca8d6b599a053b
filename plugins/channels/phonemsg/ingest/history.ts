import { withTimeout } from "@svc/sdk";
import type { proto, WAMessage, WASocket } from "@whiskeysockets/baileys";
import { quietLog } from "../quiet-log.ts";
import type { Vendor } from "../vendor.ts";
import type { KnownChat } from "./directory.ts";

/** Requests for messages of the past, which the phone answers with a piece of history that names the request. */
export interface History {
  /** Messages of a chat up to its newest, at most `cap`. Rejects when the phone does not answer in time. */
  request(line: WASocket, chat: KnownChat, cap: number, signal: AbortSignal): Promise<readonly WAMessage[]>;
  /** Looks at a message of the own phone; it may be such an answer. */
  offer(message: WAMessage): void;
  /** The connection has ended: who waits for an answer waits in vain. */
  ended(error: Error): void;
}

const ANSWER_MS = 45_000;
/** The kind of history that was asked for; what the phone sends by itself is another. */
export const ON_DEMAND = 6;

interface Waiting {
  resolve(messages: readonly WAMessage[]): void;
  reject(error: Error): void;
}

/** Makes it. The library keeps what it has shown of history and shows none of it twice: here an answer is read as it comes. */
export function createHistory(vendor: Vendor): History {
  const waiting = new Map<string, Waiting>();
  const early = new Map<string, proto.Message.IHistorySyncNotification>();
  const log = quietLog({ debug() {}, info() {}, warn() {}, error() {} });

  const read = (notification: proto.Message.IHistorySyncNotification, { resolve, reject }: Waiting): void => {
    vendor
      .downloadAndProcessHistorySyncNotification(notification as proto.Message.HistorySyncNotification, {}, log)
      .then(({ messages }) => resolve(messages), reject);
  };

  return {
    async request(line, { address, last, lastAt }, cap, signal) {
      if (last === undefined || lastAt === undefined) return [];
      // The newest message itself is wanted, too.
      const id = await line.fetchMessageHistory(cap, { remoteJid: address, ...last }, lastAt + 1_000);
      const answer = new Promise<readonly WAMessage[]>((resolve, reject) => {
        waiting.set(id, { resolve, reject });
      });
      const before = early.get(id);
      early.delete(id);
      if (before !== undefined) read(before, waiting.get(id) as Waiting);
      try {
        return await withTimeout(answer, ANSWER_MS, () => Promise.reject(new Error(`the phone has not answered within ${ANSWER_MS / 1_000} s`)), signal);
      } finally {
        waiting.delete(id);
      }
    },
    offer({ key, message }) {
      const notification = message?.protocolMessage?.historySyncNotification;
      const id = notification?.peerDataRequestSessionId;
      if (key.fromMe !== true || !notification || notification.syncType !== ON_DEMAND || typeof id !== "string") return;
      const asked = waiting.get(id);
      if (asked !== undefined) read(notification, asked);
      else if (early.size < 10) early.set(id, notification);
    },
    ended(error) {
      for (const { reject } of waiting.values()) reject(error);
      early.clear();
    },
  };
}
