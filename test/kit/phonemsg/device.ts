import { randomBytes } from "node:crypto";
import { withoutFailedTries } from "../../../plugins/channels/phonemsg/session/tried.ts";
import type { Library } from "./library.ts";

/** What others need to write to a device for the first time. */
export interface Bundle {
  readonly registrationId: number;
  /** Without the byte that names the kind of key. */
  readonly identity: Uint8Array;
  readonly signed: { readonly id: number; readonly key: Uint8Array; readonly signature: Uint8Array };
  readonly single?: { readonly id: number; readonly key: Uint8Array };
}

const SILENT = { level: "silent", child: () => SILENT, trace() {}, debug() {}, info() {}, warn() {}, error() {} };

/** A device of somebody, with its keys and its encryption. */
export interface Device {
  readonly bundle: Bundle;
  /** The same with a single key, which is given to nobody else. */
  freshBundle(): Bundle;
  knows(address: string): Promise<boolean>;
  meet(address: string, bundle: Bundle): Promise<void>;
  forget(address: string): Promise<void>;
  /** The keys of a group, its own and those of others. */
  forgetGroup(group: string): void;
  seal(address: string, message: Library): Promise<{ readonly type: string; readonly ciphertext: Uint8Array }>;
  open(address: string, type: string, ciphertext: Uint8Array): Promise<Library>;
  sealGroup(group: string, own: string, message: Library): Promise<{ readonly ciphertext: Uint8Array; readonly key: Uint8Array }>;
  openGroup(group: string, author: string, ciphertext: Uint8Array): Promise<Library>;
  learnGroup(author: string, item: Library): Promise<void>;
}

/** Makes a device of its own keys. */
export function createDevice(lib: Library): Device {
  const values = new Map<string, unknown>();
  const creds = lib.initAuthCreds();
  let isTrying = false;
  const store = {
    async get(type: string, ids: string[]) {
      return Object.fromEntries(ids.filter((id) => values.has(`${type}/${id}`)).map((id) => [id, values.get(`${type}/${id}`)]));
    },
    async set(data: Record<string, Record<string, unknown>>) {
      for (const [type, entries] of Object.entries(data))
        for (const [id, value] of Object.entries(entries)) {
          if (value === null || value === undefined) values.delete(`${type}/${id}`);
          // A phone keeps nothing of a session that a message did not fit.
          else values.set(`${type}/${id}`, isTrying && type === "session" ? withoutFailedTries(values.get(`${type}/${id}`), value) : value);
        }
    },
  };
  const keys = lib.addTransactionCapability(store, SILENT, { maxCommitRetries: 1, delayBetweenTriesMs: 0 });
  const repository = lib.DEFAULT_CONNECTION_CONFIG.makeSignalRepository({ creds, keys }, SILENT, async () => []);
  const encode = (message: Library) => {
    const size = 1 + ((randomBytes(1)[0] as number) % 16);
    return Buffer.concat([lib.proto.Message.encode(message).finish(), Buffer.alloc(size, size)]);
  };
  const decode = (bytes: Uint8Array) => lib.proto.Message.decode(lib.unpadRandomMax16(bytes));
  const bundle = {
    registrationId: creds.registrationId,
    identity: creds.signedIdentityKey.public,
    signed: { id: creds.signedPreKey.keyId, key: creds.signedPreKey.keyPair.public, signature: creds.signedPreKey.signature },
  };
  let singles = 0;
  return {
    bundle,
    freshBundle() {
      singles += 1;
      const pair = lib.Curve.generateKeyPair();
      values.set(`pre-key/${singles}`, pair);
      return { ...bundle, single: { id: singles, key: pair.public } };
    },
    knows: async (address) => (await repository.validateSession(address)).exists,
    async meet(address, { registrationId, identity, signed, single }) {
      await repository.injectE2ESession({
        jid: address,
        session: {
          registrationId,
          identityKey: lib.generateSignalPubKey(Buffer.from(identity)),
          signedPreKey: { keyId: signed.id, publicKey: lib.generateSignalPubKey(Buffer.from(signed.key)), signature: Buffer.from(signed.signature) },
          ...(single === undefined ? {} : { preKey: { keyId: single.id, publicKey: lib.generateSignalPubKey(Buffer.from(single.key)) } }),
        },
      });
    },
    forget: (address) => repository.deleteSession([address]),
    forgetGroup(group) {
      for (const name of values.keys()) if (name.startsWith(`sender-key/${group}`)) values.delete(name);
    },
    seal: (address, message) => repository.encryptMessage({ jid: address, data: encode(message) }),
    async open(address, type, ciphertext) {
      isTrying = type === "msg";
      const opened = await repository.decryptMessage({ jid: address, type, ciphertext }).finally(() => {
        isTrying = false;
      });
      return decode(opened);
    },
    async sealGroup(group, own, message) {
      const { ciphertext, senderKeyDistributionMessage } = await repository.encryptGroupMessage({ group, meId: own, data: encode(message) });
      return { ciphertext, key: senderKeyDistributionMessage };
    },
    openGroup: async (group, author, msg) => decode(await repository.decryptGroupMessage({ group, authorJid: author, msg })),
    learnGroup: (authorJid, item) => repository.processSenderKeyDistributionMessage({ authorJid, item }),
  };
}
