import { svcError, withTimeout } from "@svc/sdk";
import type { WAMessage, WASocket } from "@whiskeysockets/baileys";
import { wordsOf } from "../heard.ts";
import type { Vendor } from "../vendor.ts";
import type { KnownChat } from "./directory.ts";
import type { Group, Line } from "./entries.ts";
import type { Throttle } from "./throttle.ts";

/** What is read from the phone itself. Each call is one live read and waits for its turn. */
export interface PhoneReader {
  group(address: string, signal: AbortSignal): Promise<Group>;
  /** The newest messages of a chat, at most `cap`, none before `since` (Unix milliseconds). */
  messages(chat: KnownChat, cap: number, since: number, signal: AbortSignal): Promise<readonly Line[]>;
}

/** What it works with. */
export interface ReaderDeps {
  readonly vendor: Vendor;
  readonly throttle: Throttle;
  /** Throws `SVC_PHONEMSG_NOT_CONNECTED`. */
  socket(): WASocket;
  nameOf(address: string, push: string | undefined): Promise<string>;
}

const ANSWER_MS = 45_000;
const ON_DEMAND = 6;

/** The error of a sweep whose connection is away. */
export const notConnected = (reason: string) => svcError("SVC_PHONEMSG_NOT_CONNECTED", `the phone is not connected: ${reason}`, { status: 503 });

/** Makes the reader. */
export function createPhoneReader({ vendor, throttle, socket, nameOf }: ReaderDeps): PhoneReader {
  /** The phone answers a request for older messages with a piece of history that names the request. */
  async function history(line: WASocket, chat: KnownChat, cap: number, signal: AbortSignal): Promise<readonly WAMessage[]> {
    const { last, lastAt } = chat;
    if (last === undefined || lastAt === undefined) return [];
    let stop = () => {};
    let request: string | undefined;
    const early = new Map<string, readonly WAMessage[]>();
    const arrived = new Promise<readonly WAMessage[]>((resolve, reject) => {
      const hear = ({
        messages,
        syncType,
        peerDataRequestSessionId: id,
      }: {
        messages: WAMessage[];
        syncType?: number | null;
        peerDataRequestSessionId?: string | null;
      }) => {
        if (syncType !== ON_DEMAND || typeof id !== "string") return;
        if (id === request) resolve(messages);
        else if (request === undefined) early.set(id, messages);
      };
      const closed = ({ connection }: { connection?: string }) => {
        if (connection === "close") reject(notConnected("the connection ended"));
      };
      line.ev.on("messaging-history.set", hear);
      line.ev.on("connection.update", closed);
      stop = () => {
        line.ev.off("messaging-history.set", hear);
        line.ev.off("connection.update", closed);
      };
    });
    arrived.catch(() => {});
    try {
      const key = { remoteJid: chat.address, ...last };
      // The newest message itself is wanted, too.
      request = await line.fetchMessageHistory(cap, key, lastAt + 1_000);
      const there = early.get(request);
      if (there !== undefined) return there;
      return await withTimeout(arrived, ANSWER_MS, () => Promise.reject(new Error(`the phone has not answered within ${ANSWER_MS / 1_000} s`)), signal);
    } finally {
      stop();
    }
  }

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
      const found = await history(socket(), chat, cap, signal);
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
