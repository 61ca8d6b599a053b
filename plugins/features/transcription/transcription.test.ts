import { type SpawnOptions as NodeOptions, spawn as spawnNode } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Child, ChildEnd, GuardedFetch, Spawn } from "@svc/sdk";
import { afterEach, describe, expect, it } from "vitest";
import { addressOf } from "./cloud.ts";
import { createTranscriber } from "./dist/transcriber.js";
import type { Settings } from "./settings.ts";
import { wavMs, wavOf } from "./wav.ts";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});
const folder = () => {
  const made = mkdtempSync(join(tmpdir(), "svc-transcription-"));
  ends.push(() => rmSync(made, { recursive: true, force: true }));
  return made;
};

/** Programs as the daemon starts them, as far as this plugin goes. */
const spawn: Spawn = (command, args, { cwd, stdin, onLine, signal, timeoutMs }) => {
  const child = spawnNode(command, args, { cwd, stdio: [stdin === "pipe" ? "pipe" : "ignore", "pipe", "pipe"], signal, timeout: timeoutMs } as NodeOptions);
  let [stdout, stderr, rest] = ["", "", ""];
  child.stdout?.on("data", (chunk) => {
    stdout += chunk;
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onLine?.(line);
  });
  child.stderr?.on("data", (chunk) => {
    stderr += chunk;
  });
  const started = new Promise<void>((resolve, reject) => void child.once("spawn", resolve).once("error", reject));
  const ended = new Promise<ChildEnd>(
    (resolve) => void child.once("close", (code, ended) => resolve({ code, signal: ended, stdout, stderr, truncated: false })),
  );
  const stop = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  return { pid: child.pid ?? 0, started, ended, stop, closeStdin: () => child.stdin?.end(), write: async (data) => void child.stdin?.write(data) } as Child;
};

/** The fetch of the daemon, without its guard: the far end is on this machine. */
const fetch: GuardedFetch = async (url, init = {}) => {
  expect(init.trustedOrigins).toEqual([new URL(url).origin]);
  const { method = "GET", headers = {}, body, signal } = init;
  const answer = await globalThis.fetch(url, {
    method,
    headers,
    ...(body === undefined ? {} : { body: body as string }),
    ...(signal === undefined ? {} : { signal }),
  });
  const data = new Uint8Array(await answer.arrayBuffer());
  const text = Buffer.from(data).toString();
  return { status: answer.status, statusText: "", headers: Object.fromEntries(answer.headers), url, body: data, text: () => text, truncated: false };
};

function start(settings: Settings) {
  const made = createTranscriber({ settings: () => settings, fetch, spawn });
  ends.push(() => made.stop());
  return made;
}

/** A server that answers what it is told to. */
async function server(...answers: (readonly [status: number, body: string, headers?: Record<string, string>])[]) {
  const asked: { url: string; body: string; headers: Record<string, unknown> }[] = [];
  const far = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    asked.push({ url: request.url ?? "", body: Buffer.concat(chunks).toString("latin1"), headers: request.headers });
    const [status, body, headers] = answers[Math.min(asked.length, answers.length) - 1] as (typeof answers)[number];
    response.writeHead(status, headers).end(body);
  });
  await new Promise<void>((resolve) => far.listen(0, "127.0.0.1", resolve));
  ends.push(() => {
    far.closeAllConnections();
    far.close();
  });
  return { url: `http://127.0.0.1:${(far.address() as AddressInfo).port}`, asked };
}

const SECOND = new Int16Array(16_000).map((_, at) => 3_000 * Math.sin(at / 9));

describe("a server", () => {
  it("is sent a WAV file of the recording, with model, language and key, and its text is the answer", async () => {
    const far = await server([200, '{"text":" hello there ","language":"en"}']);
    const { transcribe } = start({ server: { url: far.url, apiKey: "s3cret", model: "large" } });
    expect(await transcribe({ audio: SECOND, settings: { language: "en-GB" } })).toEqual({ text: "hello there", language: "en", backend: "cloud" });
    const [asked] = far.asked;
    expect([asked?.url, asked?.headers.authorization]).toEqual(["/v1/audio/transcriptions", "Bearer s3cret"]);
    for (const part of ['name="model"\r\n\r\nlarge\r\n', 'name="language"\r\n\r\nen\r\n', 'filename="speech.wav"\r\nContent-Type: audio/wav'])
      expect(asked?.body).toContain(part);
    const wav = Buffer.from(asked?.body.slice(asked.body.indexOf("RIFF")).slice(0, 44 + 32_000) ?? "", "latin1");
    expect(wavMs(wav)).toBe(1_000);
  });

  it("that cannot now is asked again, one that refuses is not, and the key stands in no error", async () => {
    const soon = await server([503, "busy"], [429, "slow down", { "retry-after": "0" }], [200, '{"text":"yes"}']);
    expect((await start({ server: { url: soon.url } }).transcribe({ audio: SECOND })).text).toBe("yes");
    expect(soon.asked).toHaveLength(3);
    const never = await server([401, '{"error":{"message":"wrong\\nkey"}}']);
    const refused = start({ server: { url: never.url, apiKey: "s3cret" } }).transcribe({ audio: SECOND });
    await expect(refused).rejects.toMatchObject({ code: "SVC_TRANSCRIPTION_FAILED", message: expect.stringContaining("it answered 401: wrong key") });
    await expect(refused).rejects.not.toMatchObject({ message: expect.stringContaining("s3cret") });
    expect(never.asked).toHaveLength(1);
  });

  it("that answers without a text, or cannot be reached, is named in the error", async () => {
    for (const body of ["<html>", "{}", '{"text":7}', "null"]) {
      const far = await server([200, body]);
      await expect(start({ server: { url: far.url } }).transcribe({ audio: SECOND })).rejects.toMatchObject({
        message: expect.stringContaining("its answer has no text"),
      });
    }
    await expect(start({ server: { url: "http://127.0.0.1:1" } }).transcribe({ audio: SECOND })).rejects.toMatchObject({
      code: "SVC_TRANSCRIPTION_FAILED",
      message: expect.stringMatching(/127\.0\.0\.1:1 .*4 times/),
    });
  });

  it.each([
    ["http://h:1", "http://h:1/v1/audio/transcriptions"],
    ["http://h:1/v1/", "http://h:1/v1/audio/transcriptions"],
    ["http://h:1/api/v1", "http://h:1/api/v1/audio/transcriptions"],
    ["http://h:1/x/audio/transcriptions", "http://h:1/x/audio/transcriptions"],
  ])("at %s is asked at %s", (url, address) => {
    expect(addressOf(url)).toBe(address);
  });
});

describe("the backend", () => {
  it("is the model where its file is there, else the server, else a sentence with the next step", async () => {
    const model = join(folder(), "ggml-x.bin");
    const server = { url: "http://speech.example" };
    expect((await start({ model, server }).usable()).detail).toBe("the server speech.example");
    writeFileSync(model, "x");
    expect((await start({ model, server }).usable()).detail).toBe(`the model ${model}`);
    expect((await start({ model, server, backend: "cloud" }).usable()).detail).toBe("the server speech.example");
    expect((await start({ model, server }).usable({ backend: "cloud" })).detail).toBe("the server speech.example");
    expect((await start({ server }).usable({ model })).detail).toBe(`the model ${model}`);
    for (const settings of [{}, { backend: "local", server }, { backend: "cloud" }, { model: "/nowhere/x.bin" }] as const) {
      const usable = await start(settings).usable();
      expect([usable.ok, usable.detail]).toEqual([false, expect.stringMatching(/next: set /)]);
      await expect(start(settings).transcribe({ audio: SECOND })).rejects.toMatchObject({ code: "SVC_TRANSCRIPTION_OFF" });
    }
  });

  it("a program is called as mlx_whisper is, and what it writes is the answer", async () => {
    const place = folder();
    const binary = join(place, "whisper");
    writeFileSync(binary, `#!/bin/sh\necho "$@" > ${place}/args\nprintf 'hello\\nthere\\n' > speech.txt\n`);
    chmodSync(binary, 0o755);
    const { transcribe } = start({ binary, model: "tiny" });
    expect(await transcribe({ audio: SECOND, settings: { language: "en" } })).toEqual({ text: "hello there", backend: "local" });
    expect(readFileSync(join(place, "args"), "utf8").trim()).toBe(
      "speech.wav --model tiny --output-format txt --output-dir . --output-name speech --language en",
    );
    writeFileSync(binary, "#!/bin/sh\necho no such model >&2\nexit 3\n");
    await expect(transcribe({ audio: SECOND })).rejects.toMatchObject({ message: expect.stringMatching(/ended with code 3: no such model/) });
  });

  it("a model that is none fails its recording with a sentence, in a process of its own, and the next one too", async () => {
    const model = join(folder(), "ggml-broken.bin");
    writeFileSync(model, "this is no model");
    const { transcribe } = start({ model });
    for (const _ of [1, 2])
      await expect(transcribe({ audio: SECOND })).rejects.toMatchObject({
        code: "SVC_TRANSCRIPTION_FAILED",
        message: expect.stringContaining("the local model did not"),
      });
  });
});

describe("recordings", () => {
  it("that are no sound, too long, too large or gone are refused with a sentence, and nothing is asked", async () => {
    const far = await server([200, '{"text":"x"}']);
    const { transcribe } = start({ server: { url: far.url }, maxMinutes: 1 });
    for (const audio of [
      Buffer.from("no sound at all"),
      new Int16Array(61 * 16_000),
      "/nowhere/x.ogg",
      new Uint8Array(26 * 1_048_576),
      wavOf(new Int16Array(61 * 16_000)),
    ]) {
      await expect(transcribe({ audio })).rejects.toMatchObject({ code: "SVC_TRANSCRIPTION_AUDIO" });
    }
    expect(far.asked).toEqual([]);
  });

  it("of other formats are brought to 16 kHz mono first, where the program for it is there", async () => {
    const far = await server([200, '{"text":"x"}']);
    const { transcribe } = start({ server: { url: far.url } });
    const place = folder();
    writeFileSync(join(place, "in.wav"), wavOf(SECOND));
    const made = await spawn("ffmpeg", ["-v", "error", "-i", "in.wav", "-c:a", "libopus", "out.ogg"], { cwd: place }).ended.catch(() => undefined);
    if (made?.code !== 0) return console.warn("skipped: ffmpeg is not installed");
    await transcribe({ audio: join(place, "out.ogg") });
    expect(far.asked[0]?.body).toContain('filename="speech.wav"');
  });

  it("are four at once at a server, the others in their order; one that is given up while it waits is not asked", async () => {
    let [busy, busiest] = [0, 0];
    const slow: GuardedFetch = async () => {
      busy += 1;
      busiest = Math.max(busiest, busy);
      await new Promise((resolve) => setTimeout(resolve, 30));
      busy -= 1;
      return { status: 200, statusText: "", headers: {}, url: "", body: new Uint8Array(), text: () => '{"text":"x"}', truncated: false };
    };
    const { transcribe } = createTranscriber({ settings: () => ({ server: { url: "http://h" } }), fetch: slow, spawn });
    const abort = new AbortController();
    const all = Array.from({ length: 12 }, () => transcribe({ audio: SECOND }));
    const given = transcribe({ audio: SECOND, signal: abort.signal });
    abort.abort(new Error("given up"));
    await expect(given).rejects.toThrow("given up");
    expect((await Promise.all(all)).length).toBe(12);
    expect(busiest).toBe(4);
  });
});
