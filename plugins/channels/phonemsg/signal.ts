import { AsyncLocalStorage } from "node:async_hooks";
import type { BinaryNode, SocketConfig, WAMessage } from "@whiskeysockets/baileys";
import type { Session } from "./session/session.ts";
import { withoutFailedTries } from "./session/tried.ts";
import type { Vendor } from "./vendor.ts";

type MakeRepository = SocketConfig["makeSignalRepository"];

/** The encryption of one connection, in an order that survives a crash at any moment. */
export interface Signal {
  readonly makeRepository: MakeRepository;
  /** To be told of each node that comes in, before anybody else is. */
  saw(frame: unknown): void;
}

/** Dependencies of the encryption. */
export interface SignalDeps {
  readonly vendor: Vendor;
  readonly session: Session;
  /** Takes a message; resolves when it is kept or rightly dropped. */
  hear(message: WAMessage): Promise<void>;
  /** Resolves when all that is being sent has been kept; nothing leaves before. */
  settled(): Promise<void>;
}

/**
 * Incoming: a message is handed over before the key that opened it is spent, and only then acknowledged. Killed in between, it comes again and
 * can be opened again. Outgoing: the key is spent on disk before the message leaves, so that none is ever used for two messages.
 */
export function createSignal({ vendor, session, hear, settled }: SignalDeps): Signal {
  const nodes = new WeakMap<Uint8Array, BinaryNode>();
  // Work started by a message must not run inside the transaction that decrypted it.
  const outside = AsyncLocalStorage.snapshot();

  const isOwnAccount = (jid: string): boolean => {
    const { id = "", lid = "" } = session.creds.me ?? {};
    return [id, lid].some((own) => own !== "" && vendor.areJidsSameUser(own, jid));
  };

  /** A message of no words, for one that was taken before. */
  const nothing = Buffer.from([1]);

  /** False for the key of a group, which must be read again where it comes again. */
  async function take(ciphertext: Uint8Array, opened: Uint8Array): Promise<boolean> {
    const node = nodes.get(ciphertext);
    const { me } = session.creds;
    if (node === undefined || me === undefined) return false;
    const { fullMessage } = vendor.decodeMessageNode(node, me.id, me.lid ?? "");
    const message = vendor.proto.Message.decode(vendor.unpadRandomMax16(opened));
    await outside(() => hear({ ...fullMessage, message: message.deviceSentMessage?.message ?? message } as WAMessage));
    return !message.senderKeyDistributionMessage && !message.protocolMessage;
  }

  return {
    saw(frame) {
      const { tag, attrs, content } = frame as BinaryNode;
      if (tag !== "message" || !Array.isArray(content)) return;
      // The library handles queued offline messages and live ones separately: newer ones would overtake. Put all into the queue.
      attrs.offline ??= "1";
      for (const child of content) if (child.tag === "enc" && child.content instanceof Uint8Array) nodes.set(child.content, frame as BinaryNode);
    },
    makeRepository(auth, logger, lookup) {
      const make = vendor.DEFAULT_CONNECTION_CONFIG.makeSignalRepository as MakeRepository;
      const { keys } = auth;
      let isTrying = false;
      const set: typeof keys.set = async (data) => {
        const entries = isTrying ? Object.entries(data.session ?? {}) : [];
        if (entries.length === 0) return keys.set(data);
        const before = await keys.get("session", Object.keys(data.session ?? {}));
        await keys.set({
          ...data,
          session: Object.fromEntries(entries.map(([id, after]) => [id, after === null ? after : withoutFailedTries(before[id], after)])),
        });
      };
      const inner = make({ ...auth, keys: { ...keys, set } as typeof keys }, logger, lookup);
      const tries = (what: Parameters<typeof inner.decryptMessage>[0]) => {
        isTrying = what.type === "msg";
        return inner.decryptMessage(what).finally(() => {
          isTrying = false;
        });
      };
      const { transaction } = keys as typeof auth.keys & { transaction<T>(work: () => Promise<T>, key: string): Promise<T> };
      let order: Promise<unknown> = Promise.resolve();
      let sealing = new Map<boolean, Promise<unknown>>();
      /**
       * One after the other, each in a transaction of its own that is on disk when it resolves. The library itself encrypts within the
       * transaction of a whole send: there a key that a message has just moved on is read as it was before, and written back so.
       */
      const alone = <T>(work: () => Promise<T>): Promise<T> => {
        const done = Promise.all([order, ...sealing.values()]).then(() => outside(work));
        sealing = new Map();
        order = done.catch(() => {});
        return done;
      };
      const onceKept = async <T>(sealed: Promise<T>): Promise<T> => {
        const whole = await sealed;
        await settled();
        return whole;
      };
      /** As `alone`, but what the owner's own phone gets of a message is sealed beside what its recipient gets: they wait for the disk once. */
      const seal = <T>(jid: string, work: () => Promise<T>): Promise<T> => {
        const isOwn = isOwnAccount(jid);
        const done = Promise.all([order, sealing.get(isOwn)]).then(() => outside(work));
        sealing.set(
          isOwn,
          done.catch(() => {}),
        );
        return onceKept(done);
      };
      const opening = (open: () => Promise<Uint8Array>, ciphertext: Uint8Array, key: string): Promise<Uint8Array> =>
        alone(async () => {
          const name = nameOf(nodes.get(ciphertext));
          if (name !== undefined && session.wasTaken(name)) return nothing;
          return transaction(async () => {
            const opened = await open();
            const whole = await take(ciphertext, opened);
            // With the key that is spent: what comes again is then known, and acknowledged once more.
            if (whole && name !== undefined) await auth.keys.set(session.takenAs(name));
            return opened;
          }, key);
        });
      return {
        ...inner,
        decryptMessage: (what) => opening(() => tries(what), what.ciphertext, what.jid),
        decryptGroupMessage: (what) => opening(() => inner.decryptGroupMessage(what), what.msg, what.group),
        encryptMessage: (what) => seal(what.jid, () => inner.encryptMessage(what)),
        encryptGroupMessage: (what) => onceKept(alone(() => inner.encryptGroupMessage(what))),
        processSenderKeyDistributionMessage: (what) => alone(() => inner.processSenderKeyDistributionMessage(what)),
        getSenderKeyDistributionMessage: (what) => alone(() => inner.getSenderKeyDistributionMessage(what)),
        hasSenderKey: (what) => alone(() => inner.hasSenderKey(what)),
        injectE2ESession: (what) => alone(() => inner.injectE2ESession(what)),
        validateSession: (jid) => alone(() => inner.validateSession(jid)),
        getSessionInfo: (jid) => alone(() => inner.getSessionInfo(jid)),
        deleteSession: (jids) => alone(() => inner.deleteSession(jids)),
        migrateSession: (from, to) => alone(() => inner.migrateSession(from, to)),
      };
    },
  };
}

/** By which a message is known again. */
const nameOf = (node: BinaryNode | undefined): string | undefined =>
  node === undefined ? undefined : [node.attrs.id, node.attrs.from, node.attrs.participant ?? "", node.attrs.recipient ?? ""].join(" ");
