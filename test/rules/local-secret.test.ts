import { spawn } from "node:child_process";
import { chmodSync, existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { definePlugin, type Plugin } from "@svc/sdk";
import { describe, expect, it } from "vitest";
import { bearer, get, guarded, REMOTE, send } from "./auth.harness.ts";

const IS_ROOT = process.getuid?.() === 0;
if (!IS_ROOT) console.warn("skipped, calls of another user: only root can make them");

const seen: string[] = [];
const witness = definePlugin({
  kind: "feature",
  name: "witness",
  version: "1.0.0",
  svc: "*",
  capabilities: ["routes"],
  setup(ctx) {
    const handle = ({ caller, headers }: { caller: { local: boolean }; headers: object }) => {
      seen.push(JSON.stringify(headers));
      return { local: caller.local };
    };
    ctx.provide.route({ method: "GET", path: "/who", guard: "open", handle });
    ctx.provide.route({ method: "GET", path: "/mine", guard: "loopback", handle });
    ctx.provide.route({ server: "dashboard", method: "GET", path: "/board", guard: "loopback", handle });
  },
});

const daemon = (localSecret: boolean) =>
  guarded({
    config: {
      node: { id: "n1", name: "Node 1", bind: "127.0.0.1:0", defaultAgent: "foo", localSecret },
      mesh: { enabled: true, peers: [{ name: "afar", url: "http://192.0.2.1:18800", token: "peer-secret-0123456789" }] },
    },
    plugins: [witness as Plugin<never>],
  });

/** What a command says that another user runs. */
function asNobody(...args: [string, ...string[]]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(args[0], args.slice(1), { uid: 65_534, gid: 65_534, cwd: "/", env: {}, stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        said += text;
      });
    child.on("error", reject).on("close", () => resolve(said));
  });
}

describe("node.localSecret", () => {
  it("SEC-S2 shuts loopback to who cannot read the daemon's files, on both servers", async () => {
    const at = await daemon(true);
    const secret = readFileSync(join(at.dataFolder, "local-secret"), "utf8");
    expect(statSync(join(at.dataFolder, "local-secret")).mode & 0o777).toBe(0o600);
    const proof = { "x-svc-local": secret };
    for (const headers of [{}, { "x-svc-local": "" }, { "x-svc-local": `${secret}0` }, { "x-svc-local": secret.replace(/./, "x") }]) {
      for (const path of ["/agents", "/traces", "/mine", "/events/recent"])
        expect(await get(at.daemon, path, headers), path).toMatchObject({ status: 401, body: { code: "SVC_HTTP_LOCAL_SECRET" } });
      expect((await send(at.daemon, "/task", { agent: "foo", message: "hi" }, headers)).status).toBe(401);
      expect((await send(at.daemon, "/reload", {}, headers)).status).toBe(401);
      for (const path of ["/board", "/api/live"]) expect((await get(at.dashboard, path, headers)).status).toBe(401);
      expect((await get(at.daemon, "/who", headers)).body).toEqual({ local: false });
    }
    for (const path of ["/agents", "/traces", "/mine"]) expect((await get(at.daemon, path, proof)).status).toBe(200);
    for (const path of ["/board", "/api/live"]) expect((await get(at.dashboard, path, proof)).status).toBe(200);
    expect((await get(at.daemon, "/who", proof)).body).toEqual({ local: true });
  });

  it("SEC-S2 gives nothing to what a proxy has passed on, and takes nothing from bearers", async () => {
    const at = await daemon(true);
    const proof = { "x-svc-local": readFileSync(join(at.dataFolder, "local-secret"), "utf8") };
    expect((await get(at.daemon, "/mine", { ...proof, ...REMOTE })).status).toBe(403);
    expect((await get(at.daemon, "/agents", { ...proof, ...REMOTE })).status).toBe(401);
    expect((await get(at.daemon, "/agents", bearer("peer-secret-0123456789"))).status).toBe(200);
    expect((await get(at.daemon, "/health")).status).toBe(200);
  });

  it("SEC-S2 is shown to no handler, stands in no log, and goes with the daemon; svc sends it by itself", async () => {
    const at = await daemon(true);
    const file = join(at.dataFolder, "local-secret");
    const secret = readFileSync(file, "utf8");
    await get(at.daemon, "/who", { "x-svc-local": secret });
    await get(at.daemon, "/nowhere", { "x-svc-local": secret });
    expect(seen.join()).not.toContain(secret);
    expect(readFileSync(at.logFile, "utf8")).not.toContain(secret);
    // The note of a daemon that runs in this process is not written; the address comes from the configuration.
    const bound = new URL(at.daemon).host;
    const { writeFile } = await import("node:fs/promises");
    const [host, port] = bound.split(":");
    await writeFile(join(at.dataFolder, "daemon.json"), JSON.stringify({ pid: process.pid, host, port: Number(port), startedAt: 0 }));
    expect(await at.svc("agent", "list")).toMatchObject({ code: 0, stdout: expect.stringContaining("foo") });
    await at.kernel.stop({ drainSeconds: 0 });
    expect(existsSync(file)).toBe(false);
    expect(existsSync(join((await daemon(false)).dataFolder, "local-secret"))).toBe(false);
  });

  it.skipIf(!IS_ROOT)("SEC-S2 another user of the machine neither reads it nor gets in without it", async () => {
    const at = await daemon(true);
    chmodSync(at.folder, 0o755);
    chmodSync(at.dataFolder, 0o755);
    expect(await asNobody("cat", join(at.dataFolder, "local-secret"))).toContain("Permission denied");
    const asked = `fetch("${at.daemon}/agents").then((answer) => console.log(answer.status))`;
    expect(await asNobody(process.execPath, "-e", asked)).toBe("401\n");
    const open = await daemon(false);
    expect(await asNobody(process.execPath, "-e", asked.replace(at.daemon, open.daemon))).toBe("200\n");
  });
});
