import { execFileSync, spawn as spawnProcess } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkSandbox, commandSandbox, openRelay, programSandbox, removeMountPoints, sandboxObstacle, shellQuoted } from "@svc/sdk/engine";
import { createFakeContext } from "@svc/sdk/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createSpawn } from "../../kernel/capabilities/processes/spawn.ts";
import plugin from "../../plugins/tiers/cli-a/index.ts";
import { createSandboxLevels } from "../../plugins/tiers/cli-a/sandbox-level.ts";
import { createSwitches } from "../../plugins/tiers/cli-a/switches.ts";
import { workingBubblewrap } from "./guard-stage.ts";

const found = workingBubblewrap();
const bubblewrap = { bwrap: found ?? "", ownProcesses: process.getuid?.() !== 0 };
const log = { debug() {}, info() {}, warn() {}, error() {} };
const spawn = createSpawn({ marker: `walls-${process.pid}`, baseEnv: process.env, log });

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "svc-walls-")));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A `bwrap` in a folder of its own, for PATH. */
function fakeBwrap(script: string): string {
  writeFileSync(join(folder, "bwrap"), `#!/bin/bash\n${script}\n`);
  chmodSync(join(folder, "bwrap"), 0o755);
  return `${folder}:/usr/bin:/bin`;
}

const WALLS_NOTHING = 'while [ "$1" != "--" ]; do shift; done; shift; exec "$@"';

function levelOf(PATH: string, wall: string, change: { writable?: boolean; workspace?: string; obstacle?: string } = {}) {
  const context = createFakeContext(plugin as never, { config: { guard: { wall } }, env: { PATH }, spawn });
  return createSandboxLevels(context as never).levelOf({ workspace: folder, writable: false, version: "1", ...change });
}

describe.skipIf(found === undefined)("the proof", () => {
  it.each([false, true])("SEC-S3 a wall that holds is shown to hold, writable: %s", async (writable) => {
    expect(await checkSandbox(spawn, bubblewrap, writable)).toEqual({ holds: true });
  });

  it.each([
    ["walls nothing", WALLS_NOTHING, /can be written/],
    ["fails", "echo 'bwrap: no permission' >&2; exit 1", /no permission/],
    ["says nothing and ends well", "exit 0", /does not run/],
    [
      "leaves the network",
      `args=(); for a in "$@"; do [ "$a" = --unshare-all ] && args+=(--unshare-pid --unshare-user --unshare-uts) || args+=("$a"); done; exec ${found} "\${args[@]}"`,
      /ports/,
    ],
    [
      "leaves the workspace open",
      `args=(); for a in "$@"; do [ "$a" = --ro-bind ] && args+=(--bind) || args+=("$a"); done; exec ${found} "\${args[@]}"`,
      /written/,
    ],
  ])("SEC-S3 a bwrap that %s is found out", async (_, script, reason) => {
    fakeBwrap(script);
    const proof = await checkSandbox(spawn, { ...bubblewrap, bwrap: join(folder, "bwrap") }, false);
    expect(proof).toMatchObject({ holds: false, reason: expect.stringMatching(reason) });
  });
});

describe.skipIf(found === undefined)("without a wall that holds", () => {
  it("SEC-S3 a run is narrow, and says why", async () => {
    expect(await levelOf("/nowhere", "auto")).toMatchObject({ kind: "narrow", reason: expect.stringContaining("bubblewrap") });
    expect(await levelOf(fakeBwrap(WALLS_NOTHING), "auto")).toMatchObject({ kind: "narrow", reason: expect.stringContaining("does not hold here") });
    expect(await levelOf(process.env.PATH ?? "", "off")).toMatchObject({ kind: "narrow", reason: expect.stringContaining("'off'") });
    expect(await levelOf(process.env.PATH ?? "", "auto", { obstacle: "no key" })).toMatchObject({ kind: "narrow", reason: "no key" });
    expect(await levelOf(process.env.PATH ?? "", "auto")).toMatchObject({ kind: "wall" });
  });

  it("SEC-S3 guard.wall 'require' fails it", async () => {
    await expect(levelOf(fakeBwrap(WALLS_NOTHING), "require")).rejects.toMatchObject({
      code: "SVC_GUARD_WALL",
      message: expect.stringContaining("does not hold"),
    });
  });

  it("SEC-S5 what decides about later runs may not be a link in a workspace that is written", async () => {
    mkdirSync(join(folder, "real"));
    execFileSync("ln", ["-s", "real", join(folder, ".claude")]);
    expect(await levelOf(process.env.PATH ?? "", "auto", { writable: true })).toMatchObject({ kind: "narrow", reason: expect.stringContaining(".claude") });
    expect(sandboxObstacle({ workspace: folder, writable: false, readable: [] })).toBeUndefined();
  });
});

describe.skipIf(found === undefined)("behind the wall", () => {
  async function inside(script: string, writable: boolean): Promise<string> {
    const workspace = join(folder, "workspace");
    mkdirSync(workspace, { recursive: true });
    const room = { workspace, writable, readable: [] };
    const own = join(folder, "own");
    mkdirSync(own, { recursive: true });
    const inner = shellQuoted(commandSandbox(bubblewrap, room, { ONE: "1" }, script));
    const [bwrap = "", ...args] = programSandbox(bubblewrap, { ...room, program: [], own: [own] }, { SECRET: "canary", PATH: "/usr/bin:/bin" });
    const child = spawn(bwrap, [...args, "/bin/bash", "-c", inner], { cwd: workspace, timeoutMs: 20_000 });
    await child.started;
    const { stdout, stderr } = await child.ended;
    return stdout + stderr;
  }

  it("SEC-S3 a command sees the workspace, its variables and nothing of the engine's", async () => {
    const said = await inside(`env; ls ${folder}; ls -A /root /home /var 2>&1; id -u; cat /proc/1/environ 2>/dev/null`, false);
    expect(said).toContain("ONE=1");
    expect(said).toContain("workspace");
    expect(said).not.toMatch(/canary|own/);
  });

  it("SEC-S5 a daemon's own files in a workspace are covered, in both rooms", async () => {
    mkdirSync(join(folder, "workspace", ".svc"), { recursive: true });
    writeFileSync(join(folder, "workspace", ".svc", "tokens.json"), "canary");
    writeFileSync(join(folder, "workspace", "svc.json"), "canary");
    for (const writable of [false, true])
      expect(await inside("cat svc.json .svc/tokens.json; ls -A .svc; echo x > svc.json; touch .svc/x", writable)).not.toContain("canary");
    expect(readFileSync(join(folder, "workspace", "svc.json"), "utf8")).toBe("canary");
  });

  it("SEC-S5 a workspace that holds the data folder shows the program its own folder in it, and its commands none", async () => {
    const workspace = join(folder, "workspace");
    const own = join(workspace, ".svc", "engine");
    mkdirSync(own, { recursive: true });
    writeFileSync(join(workspace, ".svc", "tokens.json"), "canary");
    for (const writable of [false, true]) {
      const room = { workspace, writable, readable: [] };
      const inner = shellQuoted(commandSandbox(bubblewrap, room, {}, "echo command: $(ls -A .svc)"));
      const [bwrap = "", ...args] = programSandbox(bubblewrap, { ...room, program: [], own: [own] }, { PATH: "/usr/bin:/bin" });
      const child = spawn(bwrap, [...args, "/bin/bash", "-c", `touch ${own}/kept; echo program: $(ls -A .svc); ${inner}`], { cwd: workspace });
      await child.started;
      expect((await child.ended).stdout).toBe("program: engine\ncommand:\n");
    }
    expect(existsSync(join(own, "kept"))).toBe(true);
  });

  it("SEC-S5 what it made to stand on is taken away, and what was there stays", async () => {
    const workspace = join(folder, "workspace");
    mkdirSync(join(workspace, ".claude"), { recursive: true });
    writeFileSync(join(workspace, ".claude", "settings.json"), "{}");
    execFileSync("git", ["init", "-q", workspace]);
    await inside("echo x > made.txt; echo ../evil > .git/commondir; echo {} > .mcp.json; mv .git moved; mkdir -p .gemini/x", true);
    expect(existsSync(join(workspace, ".mcp.json"))).toBe(true);
    expect(removeMountPoints(workspace)).toEqual([join(workspace, ".git/commondir")]);
    expect(readdirSync(workspace).sort()).toEqual([".claude", ".git", "made.txt"]);
    expect(existsSync(join(workspace, ".git/config"))).toBe(true);
  });

  it("ENG-18 what left for a session of its own ends with the wall", async () => {
    const workspace = join(folder, "workspace");
    mkdirSync(workspace);
    const room = { workspace, writable: true, readable: [] };
    const token = `98${process.pid}`;
    const [bwrap = "", ...args] = programSandbox(bubblewrap, { ...room, program: [], own: [] }, { PATH: "/usr/bin:/bin" });
    const child = spawn(bwrap, [...args, "/bin/bash", "-c", `setsid env -i sleep ${token} & touch started; wait`], { cwd: workspace });
    await child.started;
    const alive = () =>
      execFileSync("ps", ["-eo", "args"], { encoding: "utf8" })
        .split("\n")
        .filter((line) => line === `sleep ${token}`);
    while (alive().length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    process.kill(child.pid, "SIGKILL");
    await child.ended;
    while (alive().length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
  });
});

describe.skipIf(found === undefined)("when the daemon is killed", () => {
  it("ENG-18 SEC-S3 what runs behind the wall ends with it", async () => {
    const workspace = join(folder, "workspace");
    mkdirSync(workspace);
    const token = `97${process.pid}`;
    const room = { workspace, writable: true, readable: [], program: [], own: [] };
    const [bwrap = "", ...args] = programSandbox(bubblewrap, room, { PATH: "/usr/bin:/bin" });
    const start = `require("node:child_process").spawn(...${JSON.stringify([bwrap, [...args, "/bin/bash", "-c", `setsid sleep ${token} & wait`]])}, { detached: true })`;
    const daemon = spawnProcess(process.execPath, ["-e", start], { stdio: "ignore" });
    const alive = () =>
      execFileSync("ps", ["-eo", "args"], { encoding: "utf8" })
        .split("\n")
        .filter((line) => line === `sleep ${token}`);
    while (alive().length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    daemon.kill("SIGKILL");
    while (alive().length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
  });
});

describe("the relay", () => {
  let vendor: Server;
  const heard: { url: string | undefined; headers: Record<string, unknown>; body: string }[] = [];
  beforeEach(async () => {
    heard.length = 0;
    vendor = createServer((asked, answer) => {
      let body = "";
      asked.on("data", (chunk) => (body += chunk));
      asked.on("end", () => {
        heard.push({ url: asked.url, headers: asked.headers, body });
        answer.writeHead(200, { "content-type": "text/plain", "x-said": "yes" });
        answer.write("first ");
        answer.end("last");
      });
    });
    await new Promise<void>((resolve) => vendor.listen(0, "127.0.0.1", resolve));
  });
  afterEach(() => vendor.close());

  const open = () =>
    openRelay(join(folder, "relay"), {
      base: `http://127.0.0.1:${(vendor.address() as AddressInfo).port}/base/`,
      paths: ["/v1/messages"],
      headers: { "x-api-key": "the key" },
      without: ["x-api-key", "authorization"],
    });

  const ask = (path: string, options: { method?: string; headers?: Record<string, string>; body?: string } = {}) =>
    new Promise<{ status: number; body: string }>((resolve) => {
      const asking = request({ socketPath: join(folder, "relay"), path, method: options.method ?? "POST", headers: options.headers ?? {} }, (answer) => {
        let body = "";
        answer.on("data", (chunk) => (body += chunk));
        answer.on("end", () => resolve({ status: answer.statusCode ?? 0, body }));
      });
      asking.on("connect", (answer) => resolve({ status: answer.statusCode ?? 0, body: "" }));
      asking.on("error", () => resolve({ status: 0, body: "" }));
      asking.end(options.body);
    });

  it("SEC-S3 passes a turn on to the vendor, with the key put in outside", async () => {
    const relay = await open();
    const answer = await ask("/v1/messages?beta=true", {
      headers: { "x-api-key": "svc-relay", authorization: "Bearer x", "x-own": "1", host: "elsewhere" },
      body: "words",
    });
    expect(answer).toEqual({ status: 200, body: "first last" });
    expect(heard).toMatchObject([{ url: "/base/v1/messages?beta=true", body: "words", headers: { "x-api-key": "the key", "x-own": "1" } }]);
    expect(heard[0]?.headers).not.toHaveProperty("authorization");
    expect(heard[0]?.headers.host).toMatch(/^127\.0\.0\.1:/);
    await relay.close();
  });

  it.each([
    "/v1/files",
    "/v1/messages/../files",
    "/v1/messages/%2e%2e/files",
    "//evil.example/v1/messages",
    "http://evil.example/v1/messages",
    "/v1/messagesx",
    "/v1/messages\\..\\files",
    "/",
  ])("SEC-S3 refuses %s", async (path) => {
    const relay = await open();
    expect((await ask(path)).status).not.toBe(200);
    expect(heard).toEqual([]);
    await relay.close();
  });

  it("SEC-S3 opens no tunnel", async () => {
    const relay = await open();
    expect((await ask(`127.0.0.1:${(vendor.address() as AddressInfo).port}`, { method: "CONNECT" })).status).not.toBe(200);
    expect(heard).toEqual([]);
    await relay.close();
  });

  it("says so when the vendor cannot be reached", async () => {
    const relay = await open();
    await new Promise((resolve) => vendor.close(resolve));
    expect(await ask("/v1/messages")).toMatchObject({ status: 502, body: expect.stringContaining("cannot be reached") });
    await relay.close();
  });
});

it("SEC-S3 a program that lacks a switch to be held by gets no restricted run", async () => {
  const program = join(folder, "old-program");
  writeFileSync(program, "#!/bin/sh\necho '  --permission-mode <mode>  (choices: \"default\", \"dontAsk\")'\necho '  --strict-mcp-config  only those'\n");
  chmodSync(program, 0o755);
  const switches = await createSwitches(spawn)(program);
  expect(switches.has("--system-prompt-snapshot")).toBe(false);
  expect(() => switches.requireRestricting()).toThrow(
    expect.objectContaining({ code: "SVC_GUARD_PROGRAM", message: expect.stringMatching(/--tools, --setting-sources, --disable-slash-commands/) }),
  );
});
