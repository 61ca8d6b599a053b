import type { Library } from "./library.ts";

/**
 * The certificates that the platform's server shows, as they went over the wire: the client holds them against a key that is built into it. They are
 * public; the private key is not ours, and the client does not ask for a proof of it.
 */
const CERTIFICATES = Buffer.from(
  "CncKMwjjAhADGiCRKg7Kg1iu4CSulwLBaxX51Tefw6VXGgZqcr5OEbXIRiDQ04bOBijQjZ/TBhJA34Bj82jAHhLpCWBNVBlGnFDieamd8+138S57uMt9ke9mrn5r4+VepwBPKEgHjob6bR70rlCmWDkxZv+CfVjIAxJ2CjIIAxAAGiAcUamsMDmUxsjQuS6hh4pTNHZZnMWZ++o1mX2aqQzOYiCAka6+Bij/3rfcBhJAJw8pRkhTn+1IcOJQVN1OlZg6uikYnCumyO7acFVVX3U3QPXsGSq2TCbCbWrebSC593Su43EgprIDlfU8ZgWFBw==",
  "base64",
);

const iv = (counter: number): Buffer => {
  const bytes = Buffer.alloc(12);
  bytes.writeUInt32BE(counter, 8);
  return bytes;
};

/** One direction of a finished handshake. */
interface Direction {
  readonly key: Buffer;
  counter: number;
}

/** What a client says of itself at the end of its handshake. */
export interface Hello {
  readonly noiseKey: Buffer;
  readonly payload: Library;
}

/** The server's side of `Noise_XX_25519_AESGCM_SHA256` on one connection, and of its frames. */
export class NoiseServer {
  readonly #lib: Library;
  #hash: Buffer;
  #salt: Buffer;
  #key: Buffer;
  #counter = 0;
  #ephemeral: Library;
  #in: Direction | undefined;
  #out: Direction | undefined;
  #bytes = Buffer.alloc(0);
  #begun = false;

  constructor(lib: Library) {
    this.#lib = lib;
    this.#hash = Buffer.from(lib.NOISE_MODE);
    this.#salt = this.#hash;
    this.#key = this.#hash;
    this.#mixHash(lib.NOISE_WA_HEADER);
  }

  /** The frames that are whole. Throws where the stream does not begin as the platform's. */
  frames(bytes: Uint8Array): Buffer[] {
    this.#bytes = Buffer.concat([this.#bytes, bytes]);
    if (!this.#begun) {
      const header = Buffer.from(this.#lib.NOISE_WA_HEADER);
      if (this.#bytes.subarray(0, 2).toString() === "ED") {
        const size = (this.#bytes.readUInt8(4) << 16) | this.#bytes.readUInt16BE(5);
        this.#bytes = this.#bytes.subarray(7 + size);
      }
      if (!this.#bytes.subarray(0, header.length).equals(header)) throw new Error("this is no client of the platform");
      this.#bytes = this.#bytes.subarray(header.length);
      this.#begun = true;
    }
    const found: Buffer[] = [];
    while (this.#bytes.length >= 3) {
      const size = (this.#bytes.readUInt8(0) << 16) | this.#bytes.readUInt16BE(1);
      if (this.#bytes.length < size + 3) break;
      found.push(Buffer.from(this.#bytes.subarray(3, size + 3)));
      this.#bytes = this.#bytes.subarray(size + 3);
    }
    return found;
  }

  /** The answer to the client's first frame. */
  answer(frame: Buffer): Buffer {
    const { proto, Curve } = this.#lib;
    const { clientHello } = proto.HandshakeMessage.decode(frame);
    if (!clientHello?.ephemeral?.length) throw new Error("a handshake begins with clientHello");
    this.#mixHash(clientHello.ephemeral);
    this.#ephemeral = Curve.generateKeyPair();
    const own = Curve.generateKeyPair();
    this.#mixHash(this.#ephemeral.public);
    this.#mixKey(Curve.sharedKey(this.#ephemeral.private, clientHello.ephemeral));
    const sealedKey = this.#seal(own.public);
    this.#mixKey(Curve.sharedKey(own.private, clientHello.ephemeral));
    const payload = this.#seal(CERTIFICATES);
    const message = { serverHello: { ephemeral: this.#ephemeral.public, static: sealedKey, payload } };
    return framed(proto.HandshakeMessage.encode(message).finish());
  }

  /** The client's last frame of the handshake; nodes may go both ways then. */
  finish(frame: Buffer): Hello {
    const { proto, Curve } = this.#lib;
    const { clientFinish } = proto.HandshakeMessage.decode(frame);
    if (!clientFinish?.static?.length || !clientFinish.payload?.length) throw new Error("a handshake ends with clientFinish");
    const noiseKey = this.#open(clientFinish.static);
    this.#mixKey(Curve.sharedKey(this.#ephemeral.private, noiseKey));
    const payload = proto.ClientPayload.decode(this.#open(clientFinish.payload));
    const [first, second] = this.#derive(Buffer.alloc(0));
    this.#in = { key: first, counter: 0 };
    this.#out = { key: second, counter: 0 };
    return { noiseKey, payload };
  }

  async read(frame: Buffer): Promise<Library> {
    if (this.#in === undefined) throw new Error("the handshake is not over");
    return this.#lib.decodeBinaryNode(this.#lib.aesDecryptGCM(frame, this.#in.key, iv(this.#in.counter++), Buffer.alloc(0)));
  }

  write(node: Library): Buffer {
    if (this.#out === undefined) throw new Error("the handshake is not over");
    return framed(this.#lib.aesEncryptGCM(this.#lib.encodeBinaryNode(node), this.#out.key, iv(this.#out.counter++), Buffer.alloc(0)));
  }

  #mixHash(data: Uint8Array): void {
    this.#hash = Buffer.from(this.#lib.sha256(Buffer.concat([this.#hash, data])));
  }

  #derive(data: Uint8Array): [Buffer, Buffer] {
    const key = Buffer.from(this.#lib.hkdf(Buffer.from(data), 64, { salt: this.#salt, info: "" }));
    return [key.subarray(0, 32), key.subarray(32)];
  }

  #mixKey(data: Uint8Array): void {
    [this.#salt, this.#key] = this.#derive(data);
    this.#counter = 0;
  }

  #seal(data: Uint8Array): Buffer {
    const sealed = this.#lib.aesEncryptGCM(Buffer.from(data), this.#key, iv(this.#counter++), this.#hash);
    this.#mixHash(sealed);
    return sealed;
  }

  #open(data: Uint8Array): Buffer {
    const opened = this.#lib.aesDecryptGCM(Buffer.from(data), this.#key, iv(this.#counter++), this.#hash);
    this.#mixHash(data);
    return opened;
  }
}

function framed(data: Uint8Array): Buffer {
  const head = Buffer.alloc(3);
  head.writeUIntBE(data.length, 0, 3);
  return Buffer.concat([head, data]);
}
