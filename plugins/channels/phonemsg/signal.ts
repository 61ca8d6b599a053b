import { AsyncLocalStorage } from "node:async_hooks";
import type { BinaryNode, SignalDataSet, SocketConfig, WAMessage } from "@whiskeysockets/baileys";
import type { Session } from "./session/session.ts";
import type { Vendor } from "./vendor.ts";

type MakeRepository = SocketConfig["makeSignalRepository"];

/** The encryption of one connection, in an order that survives a crash at any moment. */
export interface Signal {
  readonly makeRepository: MakeRepository;
  /** To be told of each node that comes in, before anybody else is. */
  saw(frame: unknown): void;
}

/** What the encryption works with. */
export interface SignalDeps {
  readonly vendor: Vendor;
  readonly session: Session;
  /** Takes a message; resolves when it is kept or rightly dropped. */
  hear(message: WAMessage): Promise<void>;
}

/**
 * Incoming: a message is handed over before the key that opened it is spent, and only then acknowledged. Killed in between, it comes again and
 * can be opened again. Outgoing: the key is spent on disk before the message leaves, so that none is ever used for two messages.
 */
export function createSignal({ vendor, session, hear }: SignalDeps): Signal {
  const nodes = new WeakMap<Uint8Array, BinaryNode>();
  // What a message sets in motion must not believe itself to be inside of the transaction that opened it.
  const outside = AsyncLocalStorage.snapshot();

  async function take(ciphertext: Uint8Array, opened: Uint8Array): Promise<void> {
    const node = nodes.get(ciphertext);
    const { me } = session.creds;
    if (node === undefined || me === undefined) return;
    const { fullMessage } = vendor.decodeMessageNode(node, me.id, me.lid ?? "");
    const message = vendor.proto.Message.decode(vendor.unpadRandomMax16(opened));
    await outside(() => hear({ ...fullMessage, message: message.deviceSentMessage?.message ?? message } as WAMessage));
  }

  return {
    saw(frame) {
      const { tag, content } = frame as BinaryNode;
      if (tag !== "message" || !Array.isArray(content)) return;
      for (const child of content) if (child.tag === "enc" && child.content instanceof Uint8Array) nodes.set(child.content, frame as BinaryNode);
    },
    makeRepository(auth, logger, lookup) {
      const make = vendor.DEFAULT_CONNECTION_CONFIG.makeSignalRepository as MakeRepository;
      const inner = make(auth, logger, lookup);
      const keys = auth.keys as typeof auth.keys & { transaction<T>(work: () => Promise<T>, key: string): Promise<T> };
      const spent = {
        ...keys,
        async set(data: SignalDataSet) {
          await keys.set(data);
          await session.keys.set(data);
        },
      };
      const outgoing = make({ creds: auth.creds, keys: spent }, logger, lookup);
      return {
        ...inner,
        decryptMessage: (what) =>
          keys.transaction(async () => {
            const opened = await inner.decryptMessage(what);
            await take(what.ciphertext, opened);
            return opened;
          }, what.jid),
        decryptGroupMessage: (what) =>
          keys.transaction(async () => {
            const opened = await inner.decryptGroupMessage(what);
            await take(what.msg, opened);
            return opened;
          }, what.group),
        encryptMessage: (what) => outgoing.encryptMessage(what),
        encryptGroupMessage: (what) => outgoing.encryptGroupMessage(what),
        close() {
          inner.close?.();
          outgoing.close?.();
        },
      };
    },
  };
}
