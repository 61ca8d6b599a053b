import { createHmac, randomBytes } from "node:crypto";
import type { Library } from "./library.ts";

/** What a phone says of the device that it links. */
export interface LinkedDevice {
  readonly identity: Buffer;
  readonly noiseKey: Buffer;
  /** For the client: who it is now, signed by the phone. */
  readonly success: Library;
  /** Throws unless the client has signed what the phone expects. */
  verify(signedIdentity: Uint8Array): void;
}

/** The phone of the number that devices are linked to. */
export interface Phone {
  /** What it does with the picture on the screen. */
  scan(picture: string, own: { readonly number: string; readonly hidden: string; readonly device: number }): LinkedDevice;
  /** What it does with the code that somebody has typed; `hello` is the client's first word. */
  type(
    code: string,
    hello: Library,
  ): Promise<{ readonly notification: Library; finish(stage: Library, identity: Buffer, noiseKey: Buffer, own: Own): LinkedDevice }>;
}

type Own = { readonly number: string; readonly hidden: string; readonly device: number };

const ACCOUNT = Buffer.from([6, 0]);
const DEVICE = Buffer.from([6, 1]);

/** Makes a phone with keys of its own. */
export function createPhone(lib: Library): Phone {
  const account = lib.Curve.generateKeyPair();
  const { proto, Curve } = lib;

  function link(identity: Buffer, noiseKey: Buffer, secret: Buffer, own: Own): LinkedDevice {
    const details = proto.ADVDeviceIdentity.encode({ rawId: 1, timestamp: Math.floor(Date.now() / 1000), keyIndex: 1 }).finish();
    const signature = Curve.sign(account.private, Buffer.concat([ACCOUNT, details, identity]));
    const signed = proto.ADVSignedDeviceIdentity.encode({ details, accountSignatureKey: account.public, accountSignature: signature }).finish();
    const hmac = createHmac("sha256", secret).update(signed).digest();
    return {
      identity,
      noiseKey,
      success: {
        tag: "iq",
        attrs: { from: "s.whatsapp.net", type: "set", id: `pair-${randomBytes(4).toString("hex")}`, t: String(Math.floor(Date.now() / 1000)) },
        content: [
          {
            tag: "pair-success",
            attrs: {},
            content: [
              { tag: "device-identity", attrs: {}, content: proto.ADVSignedDeviceIdentityHMAC.encode({ details: signed, hmac }).finish() },
              { tag: "device", attrs: { jid: `${own.number}:${own.device}@s.whatsapp.net`, lid: `${own.hidden.split("@")[0]}:${own.device}@lid` } },
              { tag: "platform", attrs: { name: "android" } },
            ],
          },
        ],
      },
      verify(bytes) {
        const answer = proto.ADVSignedDeviceIdentity.decode(bytes);
        const said = Buffer.concat([DEVICE, answer.details, identity, account.public]);
        if (!Curve.verify(identity, said, answer.deviceSignature)) throw new Error("the device has not signed its identity");
      },
    };
  }

  return {
    scan(picture, own) {
      const text = picture.slice(picture.indexOf("#") + 1);
      const [, noise = "", identity = "", secret = ""] = text.split(",");
      return link(Buffer.from(identity, "base64"), Buffer.from(noise, "base64"), Buffer.from(secret, "base64"), own);
    },
    async type(code, hello) {
      const wrapped = Buffer.from(lib.getBinaryNodeChildBuffer(hello, "link_code_pairing_wrapped_companion_ephemeral_pub"));
      const key = await lib.derivePairingCodeKey(code, wrapped.subarray(0, 32));
      const companion = lib.aesDecryptCTR(wrapped.subarray(48, 80), key, wrapped.subarray(32, 48));
      const ephemeral = Curve.generateKeyPair();
      const salt = randomBytes(32);
      const iv = randomBytes(16);
      const sealed = lib.aesEncryptCTR(ephemeral.public, await lib.derivePairingCodeKey(code, salt), iv);
      const ref = randomBytes(16);
      return {
        notification: {
          tag: "notification",
          attrs: { from: "s.whatsapp.net", type: "link_code_companion_reg", id: randomBytes(4).toString("hex"), t: String(Math.floor(Date.now() / 1000)) },
          content: [
            {
              tag: "link_code_companion_reg",
              attrs: { stage: "primary_hello" },
              content: [
                { tag: "link_code_pairing_ref", attrs: {}, content: ref },
                { tag: "primary_identity_pub", attrs: {}, content: account.public },
                { tag: "link_code_pairing_wrapped_primary_ephemeral_pub", attrs: {}, content: Buffer.concat([salt, iv, sealed]) },
              ],
            },
          ],
        },
        finish(stage, identity, noiseKey, own) {
          const bundle = Buffer.from(lib.getBinaryNodeChildBuffer(stage, "link_code_pairing_wrapped_key_bundle"));
          const shared = Curve.sharedKey(ephemeral.private, companion);
          const open = lib.hkdf(Buffer.from(shared), 32, { salt: bundle.subarray(0, 32), info: "link_code_pairing_key_bundle_encryption_key" });
          const opened = lib.aesDecryptGCM(bundle.subarray(44), open, bundle.subarray(32, 44), Buffer.alloc(0));
          const [theirs, mine, random] = [opened.subarray(0, 32), opened.subarray(32, 64), opened.subarray(64, 96)];
          if (!Buffer.from(mine).equals(Buffer.from(account.public)) || !Buffer.from(theirs).equals(identity))
            throw new Error("the code was typed for another device");
          const secret = lib.hkdf(Buffer.concat([shared, Curve.sharedKey(account.private, theirs), random]), 32, { info: "adv_secret" });
          return link(Buffer.from(theirs), noiseKey, Buffer.from(secret), own);
        },
      };
    },
  };
}
