import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ROOT } from "../house/house.ts";
import { runKernel, temporaryFolder } from "../kit/kernel.ts";

const PATIENCE = { timeout: 30_000, interval: 20 };
const KEY = "the-key-of-the-speech-server";

/** One request for speech, as it came. */
interface Asked {
  readonly authorization: string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A WAV file of that many samples of silence. */
function wav(samples: number): Buffer {
  const head = Buffer.alloc(44);
  head.write("RIFF", 0, "latin1");
  head.writeUInt32LE(36 + samples * 2, 4);
  head.write("WAVEfmt ", 8, "latin1");
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(24_000, 24);
  head.writeUInt32LE(48_000, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write("data", 36, "latin1");
  head.writeUInt32LE(samples * 2, 40);
  return Buffer.concat([head, Buffer.alloc(samples * 2)]);
}

const SOUND = wav(2_400);

/** A server of `POST /v1/audio/speech` that refuses what its documentation does not name. `faults`: answers of the next requests. */
async function startVoiceServer() {
  const asked: Asked[] = [];
  const refused: string[] = [];
  const faults: ({ readonly status: number; readonly headers?: Record<string, string> } | "cut")[] = [];
  const server = createServer(async (request, response) => {
    const refuse = (status: number, message: string) => {
      refused.push(message);
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ error: { message, type: "invalid_request_error" } }));
    };
    const text = await textOf(request);
    if (request.method !== "POST" || request.url !== "/v1/audio/speech") return refuse(404, `no ${request.method} ${request.url}`);
    const fault = faults.shift();
    if (fault === "cut") return void request.socket.destroy();
    if (fault !== undefined) return void response.writeHead(fault.status, fault.headers ?? {}).end(`{"error":{"message":"not for ${KEY}"}}`);
    const { authorization } = request.headers;
    if (authorization !== `Bearer ${KEY}`) return refuse(401, "wrong key");
    if (request.headers["content-type"] !== "application/json") return refuse(415, "JSON is needed");
    const body = JSON.parse(text) as Record<string, unknown>;
    const strange = Object.keys(body).filter((key) => !["model", "input", "voice", "response_format", "speed", "instructions"].includes(key));
    if (strange.length > 0) return refuse(400, `unknown: ${strange.join(", ")}`);
    for (const key of ["model", "input", "voice"]) if (typeof body[key] !== "string" || body[key] === "") return refuse(400, `${key} is needed`);
    if ((body.input as string).length > 4_096) return refuse(400, "input is too long");
    if (body.response_format !== "wav") return refuse(400, "only wav is made here");
    asked.push({ authorization, body });
    response.writeHead(200, { "content-type": "audio/wav" }).end(SOUND);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  return { url, asked, refused, faults, close };
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) text += chunk;
  return text;
}

let far: Awaited<ReturnType<typeof startVoiceServer>>;
let bin: string;
const path = process.env.PATH;
beforeEach(async () => {
  far = await startVoiceServer();
  bin = join(await temporaryFolder(), "bin");
  mkdirSync(bin);
  // A program that plays: it keeps what it was given. And one that speaks, for when the server does not.
  install("paplay", `cat "$1" > ${bin}/sound\necho played >> ${bin}/order`);
  install("espeak-ng", `cat >> ${bin}/said\necho system >> ${bin}/order`);
  process.env.PATH = `${bin}:${path}`;
});
afterEach(async () => {
  process.env.PATH = path;
  await far.close();
});

function install(name: string, script: string): void {
  writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(bin, name), 0o755);
}
const read = (name: string): string => {
  try {
    return readFileSync(join(bin, name), "utf8");
  } catch {
    return "";
  }
};

async function start(voice: object, own: object = {}) {
  const logged: string[] = [];
  const running = await runKernel({
    folder: await temporaryFolder(),
    dataFolder: join(await temporaryFolder(), ".svc"),
    agent: { tier: "local", local: { mode: "echo" }, voice: own },
    config: { voice: { provider: "cloud", narrate: "on", speaker: `cloud-${process.pid}`, ...voice } },
    env: process.env,
    known: ["features/voice", "tiers/local"].map((plugin) => join(ROOT, "plugins", plugin)),
    log: { level: "warn", destination: { write: (line: string) => void logged.push(line) } } as never,
  });
  const ask = async (text: string) => expect((await running.kernel.tasks.run(running.message(text))).ok).toBe(true);
  return { ask, logged };
}

describe("a voice of a server", () => {
  it("is asked for the agent's voice and style with the key, and what it makes is played, byte for byte", { timeout: 60_000 }, async () => {
    const { ask } = await start({ cloud: { url: `${far.url}/v1/`, apiKey: KEY, model: "voice-2" } }, { cloudVoiceId: "coral", style: "calm" });
    await ask("the gate is **open**, see https://x.example");
    await expect.poll(() => read("order"), PATIENCE).toBe("played\n");
    expect(far.asked.map(({ body }) => body)).toEqual([
      { model: "voice-2", input: expect.stringContaining("the gate is open"), voice: "coral", response_format: "wav", instructions: "calm" },
    ]);
    expect(far.asked[0]?.body.input).not.toContain("https://");
    expect(readFileSync(join(bin, "sound")).equals(SOUND)).toBe(true);
    expect([far.refused, read("said")]).toEqual([[], ""]);
  });

  it("that refuses, breaks off or sends elsewhere is passed over for the machine's own; the key is in no log", { timeout: 60_000 }, async () => {
    const { ask, logged } = await start({ cloud: { url: far.url, apiKey: KEY } });
    const elsewhere = { status: 302, headers: { location: "http://127.0.0.1:9/v1/audio/speech" } };
    const broken = [{ status: 429 }, { status: 500 }, "cut", elsewhere] as const;
    for (const [n, fault] of broken.entries()) {
      far.faults.push(fault);
      await ask(`text number ${n}`);
      await expect.poll(() => read("order"), PATIENCE).toBe("system\n".repeat(n + 1));
    }
    expect(read("said")).toContain("text number 3");
    await ask("and back again");
    await expect.poll(() => read("order"), PATIENCE).toBe(`${"system\n".repeat(broken.length)}played\n`);
    expect(far.asked[0]?.body).toMatchObject({ model: "tts-1", voice: "alloy" });
    expect(logged.join("")).not.toContain(KEY);
  });
});
