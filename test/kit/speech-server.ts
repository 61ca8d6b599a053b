import { execFile, execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** One request for words, as it came. */
export interface Asked {
  readonly fields: Readonly<Record<string, string>>;
  readonly file: { readonly name: string; readonly type: string; readonly data: Buffer };
  readonly authorization?: string;
}

/** A server of `POST /v1/audio/transcriptions` that any client could drive. */
export interface SpeechServer {
  readonly url: string;
  readonly asked: readonly Asked[];
  /** Answers of the next requests, before it listens again. */
  readonly faults: ({ readonly status: number; readonly headers?: Record<string, string>; readonly body?: string } | "cut" | "hang")[];
  /** Most requests that were worked on at once. */
  busiest(): number;
  close(): Promise<void>;
}

/** Why there is no recogniser here; undefined where there is one. */
export function whyDeaf(): string | undefined {
  for (const program of ["pocketsphinx_continuous", "sox", "espeak-ng"]) {
    try {
      execFileSync("which", [program], { stdio: "ignore" });
    } catch {
      return `${program} is not installed (Debian: pocketsphinx pocketsphinx-en-us sox espeak-ng)`;
    }
  }
  return undefined;
}

/** The words of a WAV file by pocketsphinx; `grammar` makes it sure of a few sentences. */
async function wordsOf(wav: Buffer, grammar: string | undefined): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "svc-sphinx-"));
  try {
    await writeFile(join(folder, "in.wav"), wav);
    const model = "/usr/share/pocketsphinx/model/en-us";
    const language = grammar === undefined ? ["-lm", `${model}/en-us.lm.bin`] : ["-jsgf", join(folder, "said.gram")];
    if (grammar !== undefined) await writeFile(join(folder, "said.gram"), grammar);
    const args = ["-hmm", `${model}/en-us`, "-dict", `${model}/cmudict-en-us.dict`, ...language, "-infile", join(folder, "in.wav"), "-logfn", "/dev/null"];
    return await new Promise<string>((resolve, reject) =>
      execFile("pocketsphinx_continuous", args, { timeout: 60_000 }, (error, stdout) => (error ? reject(error) : resolve(stdout.replace(/\s+/g, " ").trim()))),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** A grammar that is one of these sentences. */
export const grammarOf = (sentences: readonly string[]): string => `#JSGF V1.0;\ngrammar said;\npublic <said> = ${sentences.join(" | ")};\n`;

/** `hear` in place of pocketsphinx; `key`: the bearer it wants. */
export async function startSpeechServer(
  options: { readonly hear?: (wav: Buffer, asked: Asked) => Promise<string> | string; readonly grammar?: string; readonly key?: string } = {},
): Promise<SpeechServer> {
  const asked: Asked[] = [];
  const faults: SpeechServer["faults"] = [];
  let [busy, busiest] = [0, 0];
  const server = createServer(async (request, response) => {
    const answer = (status: number, body: unknown, headers: Record<string, string> = {}) =>
      response.writeHead(status, { "content-type": "application/json", ...headers }).end(typeof body === "string" ? body : JSON.stringify(body));
    const refuse = (status: number, message: string) => answer(status, { error: { message, type: "invalid_request_error" } });
    try {
      if (request.method !== "POST" || request.url !== "/v1/audio/transcriptions") return refuse(404, "unknown path");
      const body = await bodyOf(request);
      const fault = faults.shift();
      if (fault === "hang") return;
      if (fault === "cut") return request.socket.destroy();
      if (fault !== undefined) return answer(fault.status, fault.body ?? { error: { message: "as asked for" } }, fault.headers);
      if (options.key !== undefined && request.headers.authorization !== `Bearer ${options.key}`) return refuse(401, "wrong key");
      const form = await new Response(new Uint8Array(body), { headers: { "content-type": request.headers["content-type"] ?? "" } }).formData();
      const strange = [...form.keys()].filter((key) => !["file", "model", "language", "prompt", "response_format", "temperature"].includes(key));
      if (strange.length > 0) return refuse(400, `unknown fields: ${strange.join(", ")}`);
      const file = form.get("file");
      if (typeof file !== "object" || file === null || form.get("model") === null) return refuse(400, "file and model are needed");
      const data = Buffer.from(await file.arrayBuffer());
      if (data.toString("latin1", 0, 4) !== "RIFF") return refuse(400, "only WAV is taken");
      const fields = Object.fromEntries([...form.entries()].flatMap(([key, value]) => (typeof value === "string" ? [[key, value]] : [])));
      const { authorization } = request.headers;
      const one: Asked = { fields, file: { name: file.name, type: file.type, data }, ...(authorization === undefined ? {} : { authorization }) };
      asked.push(one);
      busy += 1;
      busiest = Math.max(busiest, busy);
      try {
        const text = await (options.hear?.(data, one) ?? wordsOf(data, options.grammar));
        answer(200, { text });
      } finally {
        busy -= 1;
      }
    } catch (error) {
      refuse(500, String(error));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    faults,
    busiest: () => busiest,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
