import { createHash, createHmac, randomBytes } from "node:crypto";
import { createSocket } from "node:dgram";
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";

// The vendor waits some 13 s for a relay that refuses its password, and does not say why: so the login is tried first.

const MAGIC = Buffer.from([0x21, 0x12, 0xa4, 0x42]);
const ALLOCATE = 0x0003;
const REFRESH = 0x0004;
const [USERNAME, INTEGRITY, ERROR, LIFETIME, REALM, NONCE, TRANSPORT] = [0x0006, 0x0008, 0x0009, 0x000d, 0x0014, 0x0015, 0x0019];
/** RFC 8489: how often a request is sent again over UDP. */
const RESEND_MS = [300, 900, 1_500];
const PATIENCE_MS = 4_000;

/** Where a relay is, by its `turn:` address. */
export interface TurnAddress {
  readonly host: string;
  readonly port: number;
  readonly transport: "udp" | "tcp" | "tls";
}

/** Undefined for an invalid address. */
export function turnAddressOf(url: string): TurnAddress | undefined {
  const parts = /^(turns?):(\[[^\]]+\]|[^:?]+)(?::(\d+))?(?:\?transport=(udp|tcp))?$/i.exec(url.trim());
  if (parts === null) return undefined;
  const isTls = parts[1]?.toLowerCase() === "turns";
  const host = (parts[2] ?? "").replace(/^\[|\]$/g, "");
  return { host, port: Number(parts[3] ?? (isTls ? 5349 : 3478)), transport: isTls ? "tls" : parts[4]?.toLowerCase() === "tcp" ? "tcp" : "udp" };
}

type Attribute = readonly [type: number, value: Buffer];

function message(method: number, attributes: readonly Attribute[], key?: Buffer): Buffer {
  const parts = attributes.map(([type, value]) => {
    const part = Buffer.alloc(4 + Math.ceil(value.length / 4) * 4);
    part.writeUInt16BE(type, 0);
    part.writeUInt16BE(value.length, 2);
    value.copy(part, 4);
    return part;
  });
  const body = Buffer.concat(parts);
  const head = Buffer.alloc(8);
  head.writeUInt16BE(method, 0);
  head.writeUInt16BE(body.length + (key === undefined ? 0 : 24), 2);
  MAGIC.copy(head, 4);
  const whole = Buffer.concat([head, randomBytes(12), body]);
  if (key === undefined) return whole;
  const signature = Buffer.alloc(24);
  signature.writeUInt16BE(INTEGRITY, 0);
  signature.writeUInt16BE(20, 2);
  createHmac("sha1", key).update(whole).digest().copy(signature, 4);
  return Buffer.concat([whole, signature]);
}

interface Answer {
  readonly isError: boolean;
  /** Error code; 0 without one. */
  readonly code: number;
  get(type: number): Buffer | undefined;
}

function answerOf(data: Buffer): Answer {
  const found = new Map<number, Buffer>();
  for (let at = 20; at + 4 <= data.length; ) {
    const length = data.readUInt16BE(at + 2);
    found.set(data.readUInt16BE(at), data.subarray(at + 4, at + 4 + length));
    at += 4 + Math.ceil(length / 4) * 4;
  }
  const error = found.get(ERROR);
  const code = error === undefined || error.length < 4 ? 0 : ((error[2] ?? 0) & 7) * 100 + (error[3] ?? 0);
  return { isError: (data.readUInt16BE(0) & 0x0110) === 0x0110, code, get: (type) => found.get(type) };
}

interface Wire {
  /** Rejects when nothing comes. */
  ask(request: Buffer): Promise<Answer>;
  close(): void;
}

async function openWire({ host, port, transport }: TurnAddress): Promise<Wire> {
  let waiting: { readonly id: string; readonly resolve: (answer: Answer) => void; readonly reject: (error: Error) => void } | undefined;
  const take = (data: Buffer) => {
    if (data.length >= 20 && data.subarray(8, 20).toString("hex") === waiting?.id) waiting.resolve(answerOf(data));
  };
  const fail = (error: Error) => waiting?.reject(error);
  const asking = (send: (data: Buffer) => void, resend: readonly number[]) => (request: Buffer) =>
    new Promise<Answer>((resolve, reject) => {
      const timers = resend.map((ms) => setTimeout(() => send(request), ms));
      timers.push(setTimeout(() => reject(new Error(`did not answer within ${PATIENCE_MS / 1000} s`)), PATIENCE_MS));
      const end = () => {
        for (const timer of timers) clearTimeout(timer);
      };
      waiting = {
        id: request.subarray(8, 20).toString("hex"),
        resolve: (answer) => {
          end();
          resolve(answer);
        },
        reject: (error) => {
          end();
          reject(error);
        },
      };
      send(request);
    });
  if (transport === "udp") {
    const socket = createSocket(host.includes(":") ? "udp6" : "udp4");
    socket.on("message", take).on("error", fail);
    return { ask: asking((data) => socket.send(data, port, host, (error) => error && fail(error)), RESEND_MS), close: () => socket.close() };
  }
  const socket = transport === "tcp" ? connect({ host, port }) : connectTls({ host, port, servername: host });
  let rest = Buffer.alloc(0);
  socket.on("error", fail).on("data", (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 20 && rest.length >= 20 + rest.readUInt16BE(2)) {
      const length = 20 + rest.readUInt16BE(2);
      take(rest.subarray(0, length));
      rest = rest.subarray(length);
    }
  });
  return { ask: asking((data) => void socket.write(data), []), close: () => void socket.destroy() };
}

/** Logs in and gives the place back at once. Undefined when the relay takes the login, else why not, without the password. */
export async function refusedBy(address: TurnAddress, username: string, credential: string): Promise<string | undefined> {
  let wire: Wire | undefined;
  try {
    wire = await openWire(address);
    const wanted: Attribute = [TRANSPORT, Buffer.from([17, 0, 0, 0])];
    const first = await wire.ask(message(ALLOCATE, [wanted]));
    const [realm, nonce] = [first.get(REALM), first.get(NONCE)];
    if (!first.isError) return undefined;
    if (first.code !== 401 || realm === undefined || nonce === undefined) return `refused: ${first.code}`;
    const key = createHash("md5").update(`${username}:${realm}:${credential}`).digest();
    const login: Attribute[] = [
      [USERNAME, Buffer.from(username)],
      [REALM, realm],
      [NONCE, nonce],
    ];
    const second = await wire.ask(message(ALLOCATE, [wanted, ...login], key));
    if (second.isError) return second.code === 401 ? `refused the user '${username}' and its password (401)` : `refused a place: ${second.code}`;
    await wire.ask(message(REFRESH, [[LIFETIME, Buffer.alloc(4)], ...login], key)).catch(() => {});
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    wire?.close();
  }
}
