import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "../house/house.ts";
import { echoConfig, openShell, type Shell } from "./svc.ts";

/** One event of a stream, as it came. */
export interface StreamedFrame {
  readonly id: string;
  readonly at: number;
  readonly answer: { readonly jsonrpc: string; readonly id: unknown; readonly result: Record<string, never>; readonly error?: { readonly code: number } };
}

/** A daemon and `svc a2a` in front of it, as two real programs. */
export interface A2aStage {
  readonly shell: Shell;
  readonly url: string;
  /** What the server wrote on standard error. */
  readonly said: () => string;
  /** Calls a method; resolves with the status and the JSON, undefined where there is no body. */
  call(method: string, params: unknown, options?: { id?: unknown; headers?: Record<string, string> }): Promise<{ status: number; body: unknown }>;
  /** Posts bytes as they are. */
  post(body: string, headers?: Record<string, string>): Promise<{ status: number; body: unknown }>;
  /** Calls a method that streams, until `enough` says so or the stream ends. */
  stream(
    method: string,
    params: unknown,
    options?: { headers?: Record<string, string>; enough?: (frames: readonly StreamedFrame[]) => boolean },
  ): Promise<readonly StreamedFrame[]>;
  /** Ends the server and starts another one in its place. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** `local`: how the agent answers; by default in twelve pieces, slowly enough to see them. */
export async function openA2a(local: object = {}, args: readonly string[] = [], env: Record<string, string> = {}): Promise<A2aStage> {
  // Several tests share a stage: its folder ends with it, and not with the first of them.
  const folder = await mkdtemp(join(tmpdir(), "svc-a2a-"));
  const shell = await openShell({}, folder);
  shell.write(echoConfig({ local: { mode: "echo", chunks: 12, delayMs: 40, ...local } }));
  await shell.svc("daemon", "start");
  let server: ChildProcess;
  let url = "";
  let said = "";
  const start = async () => {
    server = spawn(process.execPath, [join(ROOT, "cli/bin/svc.cjs"), "a2a", "--host", "127.0.0.1", "--port", "0", ...args], {
      cwd: shell.folder,
      env: { ...process.env, SVC_CONFIG: "", ...env },
    });
    server.stderr?.on("data", (chunk) => {
      said += chunk;
    });
    url = await new Promise<string>((resolve, reject) => {
      let out = "";
      server.stdout?.on("data", (chunk) => {
        out += chunk;
        const found = /on (http:\S+)/.exec(out)?.[1];
        if (found !== undefined) resolve(found.replace("0.0.0.0", "127.0.0.1"));
      });
      server.once("exit", (code) => reject(new Error(`svc a2a ended with ${code}: ${said}`)));
    });
  };
  const end = async () => {
    const over = new Promise((resolve) => server.once("exit", resolve));
    server.kill("SIGTERM");
    await over;
  };
  await start();
  const post = async (body: string, headers: Record<string, string> = {}) => {
    const answer = await fetch(url, { method: "POST", headers: { "content-type": "application/json", ...headers }, body });
    const text = await answer.text();
    return { status: answer.status, body: text === "" ? undefined : JSON.parse(text) };
  };
  const callText = (method: string, params: unknown, id: unknown = 1) => JSON.stringify({ jsonrpc: "2.0", id, method, params });
  return {
    shell,
    get url() {
      return url;
    },
    said: () => said,
    post,
    call: (method, params, { id = 1, headers } = {}) => post(callText(method, params, id), headers),
    async stream(method, params, { headers = {}, enough = () => false } = {}) {
      const abort = new AbortController();
      const answer = await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: callText(method, params),
        signal: abort.signal,
      });
      const frames: StreamedFrame[] = [];
      let text = "";
      try {
        for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
          text += Buffer.from(chunk).toString();
          for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n")) {
            const frame = frameOf(text.slice(0, end));
            text = text.slice(end + 2);
            if (frame !== undefined) frames.push(frame);
            if (enough(frames)) abort.abort();
          }
        }
      } catch (error) {
        if (!abort.signal.aborted) throw error;
      }
      return frames;
    },
    async restart() {
      await end();
      await start();
    },
    async close() {
      if (server.exitCode === null) await end();
      await shell.svc("daemon", "stop");
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function frameOf(text: string): StreamedFrame | undefined {
  const of = (name: string) =>
    text
      .split("\n")
      .find((line) => line.startsWith(`${name}: `))
      ?.slice(name.length + 2);
  const data = of("data");
  return data === undefined ? undefined : { id: of("id") ?? "", at: Date.now(), answer: JSON.parse(data) };
}
