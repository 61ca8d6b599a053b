import { svcError } from "@svc/sdk";
import type { WASocket } from "@whiskeysockets/baileys";
import { wordsOf } from "../heard.ts";
import type { Vendor } from "../vendor.ts";
import type { KnownChat } from "./directory.ts";
import type { Group, Line } from "./entries.ts";
import type { History } from "./history.ts";
import type { Throttle } from "./throttle.ts";

/** Reads from the phone itself. Each call is one live read, throttled. */
export interface PhoneReader {
  group(address: string, signal: AbortSignal): Promise<Group>;
  /** The newest messages of a chat, at most `cap`, none before `since` (Unix milliseconds). */
  messages(chat: KnownChat, cap: number, since: number, signal: AbortSignal): Promise<readonly Line[]>;
}

/** Dependencies of the reader. */
export interface ReaderDeps {
  readonly vendor: Vendor;
  readonly history: History;
  readonly throttle: Throttle;
  /** Throws `SVC_PHONEMSG_NOT_CONNECTED`. */
  socket(): WASocket;
  nameOf(address: string, push: string | undefined): Promise<string>;
}

/** The error of a sweep whose connection is away. */
export const notConnected = (reason: string) => svcError("SVC_PHONEMSG_NOT_CONNECTED", `the phone is not connected: ${reason}`, { status: 503 });

/** Makes the reader. */
export function createPhoneReader({ vendor, history, throttle, socket, nameOf }: ReaderDeps): PhoneReader {
  return {
    async group(address, signal) {
      await throttle.take(signal);
      const { subject, desc, owner, participants } = await socket().groupMetadata(address);
      const members = await Promise.all(
        participants.map(async ({ id, admin }) => ({ name: await nameOf(id, undefined), admin: admin !== null && admin !== undefined })),
      );
      return {
        id: address,
        name: subject,
        members,
        ...(desc === undefined ? {} : { description: desc }),
        ...(owner === undefined ? {} : { owner: await nameOf(owner, undefined) }),
      };
    },
    async messages(chat, cap, since, signal) {
      await throttle.take(signal);
      const found = await history.request(socket(), chat, cap, signal);
      const lines: Line[] = [];
      for (const { key, message, messageTimestamp, pushName } of found) {
        const content = vendor.normalizeMessageContent(message);
        const at = Number(messageTimestamp ?? 0) * 1_000;
        const text = content === undefined || content === null ? "" : wordsOf(content) || "(a file)";
        if (typeof key.id !== "string" || at < since || text === "" || content?.protocolMessage || content?.reactionMessage) continue;
        const address = key.participant ?? key.remoteJid ?? chat.address;
        lines.push({ id: key.id, at, from: key.fromMe === true ? "me" : await nameOf(address, pushName ?? undefined), text });
      }
      return lines.sort((left, right) => left.at - right.at).slice(-cap);
    },
  };
}
