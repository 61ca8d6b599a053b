import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { chmod, chown, link, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createGzip } from "node:zlib";
import agentCall from "@svc/action-agent-call";
import readLines from "@svc/action-file-read-lines";
import writeJsonl from "@svc/action-file-write-jsonl";
import httpFetch from "@svc/action-http-fetch";
import httpPost from "@svc/action-http-post";
import ragLexical from "@svc/action-rag-lexical";
import operatorActions from "@svc/feature-operator-actions";
import type { GuardedFetch, Lifecycle, Plugin } from "@svc/sdk";
import { createFakeContext, type FakeOptions } from "@svc/sdk/testing";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createFetch } from "../../kernel/capabilities/fetch/fetch.ts";
import { createFiles } from "../../kernel/capabilities/files/files.ts";
import { createSpawn } from "../../kernel/capabilities/processes/spawn.ts";

const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const cleanups: (() => Promise<unknown> | unknown)[] = [];
let folder: string;
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "actions-")));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
});
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

/** A plugin over the kernel's own files and spawn. */
async function live(plugin: Plugin, options: FakeOptions<Record<string, unknown>> = {}) {
  const daemonEnv = { PATH: process.env["PATH"], HOME: folder, CANARY: "canary-8c1f0a", ...options.env };
  const spawn = createSpawn({ marker: `test-${folder}`, baseEnv: daemonEnv, log: quiet });
  cleanups.push(() => spawn.stopAll());
  const ctx = createFakeContext(plugin, {
    spawn,
    files: createFiles({ own: join(folder, ".svc/plugins/x"), deps: { folder, configFile: join(folder, "svc.json"), dataFolder: join(folder, ".svc") } }),
    ...options,
  });
  const life = (plugin.setup(ctx) ?? {}) as Lifecycle;
  await life.start?.();
  cleanups.push(async () => {
    ctx.end();
    await life.stop?.();
  });
  const run = (input: Record<string, unknown>, signal: AbortSignal = new AbortController().signal) =>
    ctx.registered.actions[0]!.run(input, { signal, door: "test" });
  return { ctx, run };
}

async function roots() {
  const [data, evil] = [join(folder, "data"), join(folder, "data-evil")];
  await mkdir(data);
  await mkdir(evil);
  await writeFile(join(evil, "secret"), "secret\n");
  await writeFile(join(data, "fine"), "fine\n");
  await symlink(join(evil, "secret"), join(data, "leaf"));
  await symlink(evil, join(data, "branch"));
  await symlink(join(evil, "made"), join(data, "dangling"));
  await symlink(join(data, "fine"), join(data, "inside"));
  return { data, evil, env: { SVC_BUILTIN_FILE_ROOTS: [data, join(folder, "nowhere")].join(delimiter) } };
}
const ESCAPES = [
  "leaf",
  "branch/secret",
  "../data-evil/secret",
  "branch/../../data-evil/secret",
  "/etc/passwd",
  "dangling",
  "..",
  "a\0b",
  "%2e%2e/data-evil/secret",
];

it("ACT-03 FAULT-50 FAULT-51 reads nothing outside of the roots, however the path is spelled", async () => {
  const { evil, env, data } = await roots();
  const { run } = await live(readLines, { env });
  expect(await run({ path: "fine" })).toEqual(["fine"]);
  expect(await run({ path: "inside" })).toEqual(["fine"]);
  for (const path of [...ESCAPES, join(evil, "secret")]) await expect(run({ path }), path).rejects.toMatchObject({ code: "SVC_FILE_OUTSIDE" });
  await link(join(evil, "secret"), join(data, "hard"));
  await expect(run({ path: "hard" })).rejects.toMatchObject({ code: "SVC_FILE_LINKED" });
});

it("ACT-03 FAULT-51 writes nothing outside of the roots, and follows no link at the end of a new path", async () => {
  const { evil, env } = await roots();
  const { run } = await live(writeJsonl, { env });
  for (const path of [...ESCAPES, "branch/new.jsonl", join(evil, "new.jsonl")]) {
    await expect(run({ path, record: { a: 1 } }), path).rejects.toMatchObject({ code: "SVC_FILE_OUTSIDE" });
  }
  expect(await readFile(join(evil, "secret"), "utf8")).toBe("secret\n");
  await expect(readFile(join(evil, "made"))).rejects.toMatchObject({ code: "ENOENT" });
  await expect(readFile(join(evil, "new.jsonl"))).rejects.toMatchObject({ code: "ENOENT" });
});

it("ACT-05 keeps 300 records written at one time whole and apart", async () => {
  const { data, env } = await roots();
  const { run } = await live(writeJsonl, { env });
  const records = Array.from({ length: 300 }, (_, n) => ({ n, text: `${n}\n`.repeat(n * 5) }));
  await Promise.all(records.map((record) => run({ path: "log.jsonl", record })));
  const lines = (await readFile(join(data, "log.jsonl"), "utf8")).split("\n").slice(0, -1);
  const written = lines.map((line) => JSON.parse(line) as (typeof records)[number]).sort((left, right) => left.n - right.n);
  expect(written).toEqual(records);
});

async function operator(files: Record<string, unknown>, env: Record<string, string> = {}, fetch?: GuardedFetch) {
  await mkdir(join(folder, ".svc/actions"), { recursive: true });
  for (const [id, definition] of Object.entries(files)) await writeFile(join(folder, ".svc/actions", `${id}.json`), JSON.stringify(definition));
  const { ctx } = await live(operatorActions, { env, ...(fetch ? { fetch } : {}) });
  return { ctx, run: async (id: string, body?: unknown) => (await ctx.request("POST", `/api/actions/${id}/run`, { body })).body as Record<string, unknown> };
}

it("FAULT-56 brings an input through a real shell unchanged", async () => {
  const { run } = await operator({ say: { kind: "shell", command: "printf %s {{x}}", inputs: [{ name: "x" }] } });
  for (const x of ["-n", "--help", "$(touch pwned)", "a'b\"c`d`\\\n;e", "é\u202e🙂", ""])
    expect(await run("say", { x })).toMatchObject({ ok: true, status: 0, output: x, errors: "" });
});

it("ACT-10 FAULT-24 cuts each stream at 32 KB while the child writes on", async () => {
  const { run } = await operator({ flood: { kind: "shell", command: "yes out | head -c 1000000; yes err | head -c 1000000 >&2; exit 4" } });
  const result = await run("flood");
  expect(result).toMatchObject({ ok: false, status: 4, truncated: true });
  expect([String(result["output"]).length, String(result["errors"]).length]).toEqual([32_768, 32_768]);
});

// Only where /proc is can the test see that the inner process is gone.
it.runIf(existsSync("/proc/self/stat"))("ACT-10 ends the whole group at the limit, and says so", async () => {
  const { run } = await operator({ slow: { kind: "shell", command: `(sleep 600; touch ${join(folder, "late")}) & echo $!; wait`, timeoutMs: 300 } });
  const result = await run("slow");
  expect(result).toMatchObject({ ok: false, status: null, errors: "It was stopped after 300 ms." });
  const inner = Number(String(result["output"]).trim());
  expect(inner).toBeGreaterThan(1);
  await expect.poll(() => isAlive(inner)).toBe(false);
});

it("FAULT-59 shows a child the variables that its command names, and no other of the daemon's", async () => {
  const { run } = await operator(
    { env: { kind: "shell", command: "env; printf %s ${API_TOKEN}", env: { OWN: "{{x}}" }, inputs: [{ name: "x", defaultValue: "${CANARY}" }] } },
    { API_TOKEN: "s3cr3t-value", CANARY: "canary-8c1f0a" },
  );
  const { output } = await run("env");
  expect(output).toContain("OWN=${CANARY}");
  expect(output).toContain("API_TOKEN=[API_TOKEN]");
  expect(output).not.toContain("canary-8c1f0a");
  expect(output).not.toContain("s3cr3t-value");
});

it("ACT-11 sees files appear, change and go without being asked", async () => {
  const { ctx } = await operator({});
  const names = () => ctx.actions.list().map(({ name, description }) => `${name} ${description}`);
  const file = join(folder, ".svc/actions/new.json");
  await writeFile(file, JSON.stringify({ kind: "shell", command: "date", title: "one" }));
  await expect.poll(names, { timeout: 10_000 }).toEqual(["new one"]);
  await writeFile(file, JSON.stringify({ kind: "shell", command: "date", title: "other" }));
  await expect.poll(names, { timeout: 10_000 }).toEqual(["new other"]);
  await rm(file);
  await expect.poll(names, { timeout: 10_000 }).toEqual([]);
});

it("ACT-12 indexes a real workspace without leaving it by a link, and finds what changed", async () => {
  const workspace = join(folder, "ws");
  await mkdir(join(workspace, "notes"), { recursive: true });
  await writeFile(join(workspace, "notes/pump.md"), "\nThe pump leaks.\n");
  await writeFile(join(folder, "outside.md"), "pump pump pump\n");
  await symlink(join(folder, "outside.md"), join(workspace, "link.md"));
  await symlink(folder, join(workspace, "up"));
  const { ctx, run } = await live(ragLexical, { agents: [{ id: "main", workspace }] });
  const index = async () => (await ctx.request("POST", "/api/agents/main/index")).body;
  await expect(run({ agentId: "main", query: "pump" })).rejects.toMatchObject({ code: "SVC_INDEX_MISSING" });
  expect(await index()).toMatchObject({ files: 1, pieces: 1 });
  expect(await run({ agentId: "main", query: "pump" })).toMatchObject({ results: [{ path: "notes/pump.md", line: 2, snippet: "The pump leaks." }] });
  await writeFile(join(workspace, "notes/pump.md"), "The valve holds now.\n");
  expect(await index()).toMatchObject({ read: 1 });
  expect(await run({ agentId: "main", query: "pump" })).toEqual({ results: [] });
});

/** A server on this machine, and the fetch that takes it for a public one. */
async function server(handle: RequestListener) {
  const listening = createServer(handle).listen(0, "127.0.0.1");
  await once(listening, "listening");
  cleanups.push(() => {
    listening.closeAllConnections();
    listening.close();
  });
  const origin = `http://127.0.0.1:${(listening.address() as AddressInfo).port}`;
  const guarded = createFetch();
  return { origin, fetch: ((url, init) => guarded(url, { ...init, trustedOrigins: [origin] })) as GuardedFetch };
}

it("ACT-01 FAULT-53 http.fetch returns from an endless response, and from one that unpacks without end, with 1 MB", async () => {
  const { origin, fetch } = await server((request, response) => {
    const gzip = request.url === "/bomb" ? createGzip() : undefined;
    response.writeHead(200, gzip ? { "content-encoding": "gzip" } : {});
    const out = gzip ?? response;
    gzip?.pipe(response);
    const chunk = Buffer.alloc(65_536, "ü");
    const more = () => {
      while (!response.destroyed && out.write(chunk));
    };
    out.on("drain", more);
    response.on("close", () => gzip?.destroy());
    more();
  });
  const { run } = await live(httpFetch, { fetch });
  for (const path of ["/endless", "/bomb"]) {
    const { status, truncated, body } = (await run({ url: origin + path })) as { status: number; truncated: boolean; body: string };
    expect([status, truncated, Buffer.byteLength(body), body.includes("\ufffd")], path).toEqual([200, true, 1_048_576, false]);
  }
});

it("ACT-02 http.fetch and http.post answer alike, name the final address, and call a 404 a success", async () => {
  const seen: string[] = [];
  const { origin, fetch } = await server(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    seen.push(`${request.method} ${request.url} ${request.headers["content-type"] ?? ""} ${body}`);
    if (request.url === "/old") return response.writeHead(302, { location: "/new" }).end();
    response.writeHead(404, { "x-kind": "test" }).end(`no ${request.url}`);
  });
  const get = await (await live(httpFetch, { fetch })).run({ url: `${origin}/old` });
  const post = await (await live(httpPost, { fetch })).run({ url: `${origin}/new`, body: { a: 1 } });
  const alike = {
    status: 404,
    statusText: "Not Found",
    body: "no /new",
    truncated: false,
    url: `${origin}/new`,
    headers: expect.objectContaining({ "x-kind": "test" }),
  };
  expect([get, post]).toEqual([alike, alike]);
  expect(seen).toEqual(["GET /old  ", "GET /new  ", 'POST /new application/json {"a":1}']);
});

it("FAULT-52 http.fetch and http.post reach no closed address, by name, number, form or redirect", async () => {
  const reached: string[] = [];
  const inner = await server((request, response) => {
    reached.push(request.url ?? "");
    response.end("inner");
  });
  const outer = await server((_, response) => response.writeHead(302, { location: `${inner.origin}/secret` }).end());
  const port = new URL(inner.origin).port;
  const closed = ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433", "0x7f.1", "127.1"].map((host) => `http://${host}:${port}/`);
  for (const url of [...closed, "http://169.254.169.254/latest/meta-data/", "http://10.0.0.1/", "http://[fd00::1]/"]) {
    await expect((await live(httpFetch, { fetch: createFetch() })).run({ url }), url).rejects.toMatchObject({ code: "SVC_FETCH_BLOCKED" });
    await expect((await live(httpPost, { fetch: createFetch() })).run({ url, body: 1 }), url).rejects.toMatchObject({ code: "SVC_FETCH_BLOCKED" });
  }
  await expect((await live(httpFetch, { fetch: outer.fetch })).run({ url: outer.origin })).rejects.toMatchObject({ code: "SVC_FETCH_BLOCKED" });
  expect(reached).toEqual([]);
});

it("ACT-08 an operator's HTTP action reaches the origin that was written down, and nothing behind a redirect", async () => {
  const reached: string[] = [];
  const other = await server((_, response) => response.end("other"));
  const lamp = await server((request, response) => {
    reached.push(`${request.method} ${request.url} ${request.headers["authorization"]}`);
    if (request.url === "/away") return response.writeHead(307, { location: other.origin }).end();
    response.end("x".repeat(40_000));
  });
  const call = { kind: "http", url: "${LAMP_URL}/{{path}}", headers: { authorization: "Bearer ${LAMP_TOKEN}" }, inputs: [{ name: "path", required: true }] };
  const { run } = await operator({ lamp: call }, { LAMP_URL: lamp.origin, LAMP_TOKEN: "t0ken-value" }, createFetch());
  expect(await run("lamp", { path: "on/../off?x=1" })).toMatchObject({ ok: true, status: 200, output: "x".repeat(32_768), truncated: true });
  expect(reached).toEqual(["GET /on%2F..%2Foff%3Fx%3D1 Bearer t0ken-value"]);
  const away = await run("lamp", { path: "away" });
  expect(away).toMatchObject({ ok: false, status: null, output: "" });
  expect(JSON.stringify(away)).not.toContain("t0ken-value");
});

it("agent.call gives way when its caller goes", async () => {
  const { run } = await live(agentCall, { agents: [{ id: "oracle" }] });
  await expect(run({ agentId: "oracle", message: "x" }, AbortSignal.abort(new Error("gone")))).rejects.toThrow("gone");
});

/** Ended counts as gone also where nobody has taken its exit code yet. */
function isAlive(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
}

it("SEC-S1 runs no action file that another user may have written, and says why and what to do", async () => {
  const { ctx, run } = await operator({ mine: { kind: "shell", command: "echo mine" }, open: { kind: "shell", command: "echo open" } });
  const file = (id: string) => join(folder, ".svc/actions", `${id}.json`);
  await chmod(file("open"), 0o666);
  expect(await run("mine")).toMatchObject({ ok: true });
  expect(await run("open")).toMatchObject({ code: "SVC_OPERATOR_ACTION_INVALID", error: expect.stringContaining(`chmod go-w ${file("open")}`) });
  await chmod(file("open"), 0o644);
  expect(await run("open")).toMatchObject({ ok: true });
  await chmod(join(folder, ".svc/actions"), 0o777);
  expect(await run("mine")).toMatchObject({ error: expect.stringContaining("other users can write") });
  await chmod(join(folder, ".svc/actions"), 0o700);
  if (process.getuid?.() === 0) {
    await chown(file("mine"), 12_345, 12_345);
    expect(await run("mine")).toMatchObject({ error: expect.stringContaining("belongs to the user with the id 12345") });
  }
  expect(ctx.registered.actions.map(({ name }) => name)).toEqual(["open"]);
});

it("SEC-S1 tells of an action that appears while the daemon runs, in the log and on the bus", async () => {
  const { ctx, run } = await operator({ first: { kind: "shell", command: "echo 1" } });
  const told = () => ctx.events.published.filter(({ type }) => type === "operator-actions:found").map(({ data }) => data);
  expect(told()).toEqual([]);
  expect(ctx.logged.filter(({ level }) => level === "info")).toMatchObject([{ facts: { actions: ["first"] } }]);
  await writeFile(join(folder, ".svc/actions/planted.json"), JSON.stringify({ kind: "shell", command: "echo 2" }));
  expect(await run("planted")).toMatchObject({ ok: true });
  expect(told()).toEqual([{ action: "planted", kind: "shell" }]);
  expect(ctx.logged.filter(({ level }) => level === "info").at(-1)).toMatchObject({ facts: { action: "planted", kind: "shell" } });
});
