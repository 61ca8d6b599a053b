import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { type Confined, svcError } from "@svc/sdk";

/** The key pair that push services and browsers know this daemon by (VAPID, RFC 8292). */
export interface VapidKeys {
  /** The uncompressed point, base64url: what a page subscribes with. */
  readonly publicKey: string;
  /** The header `Authorization` for the push service at `endpoint`. */
  authorization(endpoint: string, subject: string): string;
}

interface Stored {
  readonly publicKey: string;
  readonly privateKey: string;
}

const MOST_BYTES = 10_000;
/** A proof counts for 24 hours at most. */
const LIFETIME_SECONDS = 12 * 3_600;

/**
 * Reads the keys of the file, or makes them. A file that is there and holds no keys is left alone: making others would silently cut off every
 * phone. Throws `SVC_PUSH_KEYS` naming it.
 */
export async function openKeys(folder: Confined, name: string): Promise<VapidKeys> {
  let keys: VapidKeys | undefined;
  await folder.change(name, MOST_BYTES, (before) => {
    if (before === undefined) {
      const made = makeKeys();
      keys = keysOf(made);
      return `${JSON.stringify(made, null, 2)}\n`;
    }
    keys = parse(before, name);
    return undefined;
  });
  return keys as VapidKeys;
}

function makeKeys(): Stored {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const { x = "", y = "", d = "" } = privateKey.export({ format: "jwk" });
  const point = Buffer.concat([Buffer.of(4), Buffer.from(x, "base64url"), Buffer.from(y, "base64url")]);
  return { publicKey: point.toString("base64url"), privateKey: d };
}

function parse(bytes: Uint8Array, name: string): VapidKeys {
  try {
    return keysOf(JSON.parse(Buffer.from(bytes).toString()) as Stored);
  } catch {
    // The parser's message would quote the file.
    const next = "put back the copy that was saved, or delete it: new keys are made then, and every phone must be opened again";
    throw svcError("SVC_PUSH_KEYS", `The key file ${name} in the data folder holds no push keys; ${next}.`);
  }
}

function keysOf({ publicKey, privateKey }: Stored): VapidKeys {
  const point = Buffer.from(publicKey, "base64url");
  const x = point.subarray(1, 33).toString("base64url");
  const y = point.subarray(33).toString("base64url");
  const key = createPrivateKey({ format: "jwk", key: { kty: "EC", crv: "P-256", x, y, d: privateKey } });
  const { x: ofPrivate } = createPublicKey(key).export({ format: "jwk" });
  if (point.length !== 65 || ofPrivate !== x) throw new Error("the halves do not belong together");
  return {
    publicKey,
    authorization: (endpoint, subject) => `vapid t=${proof(key, new URL(endpoint).origin, subject)}, k=${publicKey}`,
  };
}

/** A signed claim for one push service, as a JSON Web Token with ES256. */
function proof(key: KeyObject, audience: string, subject: string): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const expires = Math.floor(Date.now() / 1_000) + LIFETIME_SECONDS;
  const content = `${part({ typ: "JWT", alg: "ES256" })}.${part({ aud: audience, exp: expires, sub: subject })}`;
  return `${content}.${sign("sha256", Buffer.from(content), { key, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
}
