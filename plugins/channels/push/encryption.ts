import { createCipheriv, createECDH, hkdfSync, randomBytes } from "node:crypto";

/** Receiver keys from a browser: its public key (a point of P-256, 65 bytes) and a shared secret (16 bytes). */
export interface ReceiverKeys {
  readonly p256dh: Uint8Array;
  readonly auth: Uint8Array;
}

const CURVE = "prime256v1";
const POINT_BYTES = 65;
const SECRET_BYTES = 16;
const SALT_BYTES = 16;
const TAG_BYTES = 16;
/** One record holds a whole notice. */
const RECORD_BYTES = 4_096;
/** Marks the end of the last record. */
const LAST = Buffer.of(2);

/** The longest notice that every push service takes, in bytes: 4,096 with salt, key, tag and padding around it. */
export const MOST_PLAIN = RECORD_BYTES - SALT_BYTES - 4 - 1 - POINT_BYTES - TAG_BYTES - LAST.length;

/**
 * Encrypts a notice for one browser as RFC 8291 says, in the encoding `aes128gcm` of RFC 8188: the push service in between cannot read it.
 * A key of its own for each notice, so that no two share one. Throws for keys that are none.
 */
export function encrypt(plain: Uint8Array, { p256dh, auth }: ReceiverKeys): Buffer {
  const own = createECDH(CURVE);
  const ownKey = own.generateKeys();
  const salt = randomBytes(SALT_BYTES);
  const keyInfo = Buffer.concat([Buffer.from("WebPush: info\0"), p256dh, ownKey]);
  const input = derive(own.computeSecret(p256dh), auth, keyInfo, 32);
  const key = derive(input, salt, Buffer.from("Content-Encoding: aes128gcm\0"), 16);
  const nonce = derive(input, salt, Buffer.from("Content-Encoding: nonce\0"), 12);
  const size = Buffer.alloc(4);
  size.writeUInt32BE(RECORD_BYTES);
  const cipher = createCipheriv("aes-128-gcm", key, nonce);
  const sealed = Buffer.concat([cipher.update(plain), cipher.update(LAST), cipher.final(), cipher.getAuthTag()]);
  return Buffer.concat([salt, size, Buffer.of(ownKey.length), ownKey, sealed]);
}

const derive = (input: Uint8Array, salt: Uint8Array, info: Uint8Array, bytes: number): Buffer => Buffer.from(hkdfSync("sha256", input, salt, info, bytes));

/** Whether keys can be encrypted for: the right lengths, and a point that lies on the curve. */
export function areUsable({ p256dh, auth }: ReceiverKeys): boolean {
  if (p256dh.length !== POINT_BYTES || p256dh[0] !== 4 || auth.length !== SECRET_BYTES) return false;
  const probe = createECDH(CURVE);
  probe.generateKeys();
  try {
    probe.computeSecret(p256dh);
    return true;
  } catch {
    return false;
  }
}
