import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { hookProgram, hookScript } from "./hook-script.ts";

interface Call {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** How the daemon answers; nothing at all where it hangs. */
type Answer = { readonly status: number; readonly body: string } | "hang";

let folder = "";
let server: Server;
let calls: Call[];
let answer: Answer;

beforeEach(async () => {
  // The path is one that a shell would take apart.
  folder = mkdtempSync(join(tmpdir(), "svc it's $HOME "));
  mkdirSync(join(folder, "attach"));
  calls = [];
  answer = { status: 200, body: "" };
  server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => {
      calls.push({ path: request.url ?? "", headers: request.headers, body });
      if (answer !== "hang") response.writeHead(answer.status).end(answer.body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  writeFileSync(join(folder, "attach/hook.sh"), hookScript({ dataFolder: folder, node: process.execPath }), { mode: 0o700 });
  writeFileSync(join(folder, "attach/hook.mjs"), hookProgram({ dataFolder: folder }));
  note((server.address() as AddressInfo).port);
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  rmSync(folder, { recursive: true, force: true });
});

const note = (port: number, host = "127.0.0.1") =>
  writeFileSync(join(folder, "daemon.json"), JSON.stringify({ pid: 1, host, port, startedAt: 1, instance: "inst_1", log: "/x" }));

function run(
  event: string,
  { input = '{"session_id":"s"}', env = {}, shell = "/bin/sh" }: { input?: string; env?: Record<string, string>; shell?: string } = {},
) {
  return new Promise<{ code: number | null; out: string; err: string }>((resolve) => {
    const child = spawn(shell, [join(folder, "attach/hook.sh"), event], {
      env: { PATH: process.env.PATH ?? "", CLAUDE_PID: "4711", AI_AGENT: "claude-code_2-1-329_harness", ...env },
    });
    let [out, err] = ["", ""];
    child.stdout.on("data", (chunk) => {
      out += chunk;
    });
    child.stderr.on("data", (chunk) => {
      err += chunk;
    });
    child.stdin.on("error", () => undefined);
    child.stdin.end(input);
    child.on("close", (code) => resolve({ code, out, err }));
  });
}

const PATIENCE = { timeout: 20_000, interval: 20 };
const NOTHING = { code: 0, out: "", err: "" };
const withoutCurl = { PATH: "/nonexistent" };

describe.each([
  ["with curl, by sh", {}, "/bin/sh"],
  ["with curl, by bash", {}, "/bin/bash"],
  ["without curl, by node", withoutCurl, "/bin/sh"],
] as const)("the script of the hooks, %s", (_, env, shell) => {
  it("hands over what the program says, with its process and the daemon that is meant, and prints the answer as it is", async () => {
    answer = { status: 200, body: '{"systemMessage":"a \\"b\\" $HOME\\n"}' };
    writeFileSync(join(folder, "local-secret"), "the secret");
    const input = JSON.stringify({ session_id: "s", prompt: `it's "${"x".repeat(200_000)}" $HOME` });
    expect(await run("prompt", { input, env, shell })).toEqual({ code: 0, out: answer.body, err: "" });
    expect(calls).toMatchObject([
      {
        path: "/attach/prompt",
        body: input,
        headers: {
          "content-type": "application/json",
          "svc-expect-instance": "inst_1",
          "x-svc-program": "claude",
          "x-svc-pid": "4711",
          "x-svc-version": "claude-code_2-1-329_harness",
          "x-svc-local": "the secret",
        },
      },
    ]);
  });

  it("leaves out what it does not know", async () => {
    await run("stop", { env: { ...env, CLAUDE_PID: "", AI_AGENT: "" }, shell });
    expect(Object.keys(calls[0]?.headers ?? {})).not.toEqual(expect.arrayContaining([expect.stringMatching(/^x-svc-(pid|version|local)$/)]));
  });

  it.each([404, 403, 421, 500])("says nothing and carries on where the daemon answers %i", async (status) => {
    answer = { status, body: "an error" };
    for (const event of ["session-start", "prompt", "stop", "session-end", "wait"]) expect(await run(event, { env, shell })).toEqual(NOTHING);
    expect(calls).toHaveLength(5);
  });

  it("says nothing and carries on where no daemon is, or never was, and for an event that is none", async () => {
    expect(await run("constructor", { env, shell })).toEqual(NOTHING);
    expect(calls).toEqual([]);
    const closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, "127.0.0.1", resolve));
    note((closed.address() as AddressInfo).port);
    await new Promise((resolve) => closed.close(resolve));
    for (const event of ["prompt", "wait"]) expect(await run(event, { env, shell })).toEqual(NOTHING);
    rmSync(join(folder, "daemon.json"));
    expect(await run("prompt", { env, shell })).toEqual(NOTHING);
  });

  it("is silent in a program that the daemon has started itself", async () => {
    expect(await run("prompt", { env: { ...env, SVC_RUN: "mark" }, shell })).toEqual(NOTHING);
    expect(calls).toEqual([]);
  });

  it("begins a turn by `wait` alone, and only with words", async () => {
    answer = { status: 200, body: "svc: 1 message waits" };
    expect(await run("wait", { env, shell })).toEqual({ code: 2, out: "", err: expect.stringMatching(/^svc: 1 message waits\n?$/) });
    answer = { status: 204, body: "" };
    expect(await run("wait", { env, shell })).toEqual(NOTHING);
  });
});

describe("the hook in the background", () => {
  it("asks the next daemon when its own one stops, wherever that listens, and gives up for a newer one and without its program", {
    timeout: 60_000,
  }, async () => {
    answer = { status: 200, body: "again" };
    const env = { CLAUDE_PID: String(process.pid) };
    const waiting = run("wait", { env });
    await vi.waitFor(() => expect(calls).toHaveLength(1), PATIENCE);
    rmSync(join(folder, "daemon.json"));
    const next = createServer((_request, response) => response.end("svc: 1 message waits"));
    await new Promise<void>((resolve) => next.listen(0, "127.0.0.1", resolve));
    note((next.address() as AddressInfo).port);
    expect(await waiting).toEqual({ code: 2, out: "", err: "svc: 1 message waits\n" });
    await new Promise((resolve) => next.close(resolve));
    note((server.address() as AddressInfo).port);
    expect(existsSync(join(folder, `attach/wait-${process.pid}`))).toBe(false);

    const older = run("wait", { env });
    await vi.waitFor(() => expect(calls).toHaveLength(2), PATIENCE);
    writeFileSync(join(folder, `attach/wait-${process.pid}`), "1\n");
    expect(await older).toEqual(NOTHING);
    expect(calls).toHaveLength(2);
    expect(await run("wait", { env: { CLAUDE_PID: "999999999" } })).toEqual(NOTHING);
    expect(await run("wait", { env: { CLAUDE_PID: "" } })).toEqual(NOTHING);
  });
});

describe("a daemon that hangs", () => {
  it("is asked twice, then left alone for half a minute; one that answers again is asked each time", { timeout: 30_000 }, async () => {
    answer = "hang";
    for (let prompt = 0; prompt < 4; prompt += 1) expect(await run("prompt")).toEqual(NOTHING);
    expect(calls).toHaveLength(2);
    answer = { status: 200, body: "" };
    writeFileSync(join(folder, "attach/slow"), `2 ${Math.floor(Date.now() / 1000) - 31}\n`);
    expect(await run("prompt")).toEqual(NOTHING);
    expect(calls).toHaveLength(3);
    expect(existsSync(join(folder, "attach/slow"))).toBe(false);
  });

  it("does not break over a note of it that is damaged", async () => {
    writeFileSync(join(folder, "attach/slow"), "x y\n");
    expect(await run("prompt")).toEqual(NOTHING);
  });
});
