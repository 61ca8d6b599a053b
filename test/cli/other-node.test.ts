import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer as createPlain, type IncomingHttpHeaders, request } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type Lines, openLines, sharedLines } from "../kit/lines.ts";
import { NO_POSTGRES, startPostgres, type TestServer } from "../kit/postgres.ts";
import { echoConfig, openShell, type Said, type Shell } from "../kit/svc.ts";
import { ON_SERVER } from "../kit/test-store.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

/** The commands of many lines, in one process. */
const lines = sharedLines();
const TOKEN = "the-token-that-both-share-0123456789";

describe.skipIf(NO_POSTGRES !== undefined)("--node with two daemons on one schema", () => {
  let server: TestServer;
  /** Outlives each test. */
  let folder: string;
  let store: { readonly schema: string };
  let one: Shell;
  let two: Shell;
  /** Trusts the certificate of the tests. */
  let trusting: Lines;
  let asked: { svc(...line: string[]): Promise<Said> };
  let ca: string;
  let key: string;

  const open = async (id: string, more: object) => {
    mkdirSync(join(folder, id));
    const shell = await openShell({}, join(folder, id));
    const { node, agents, ...rest } = echoConfig({ name: `Echo of ${id}` }, { store, ...more }) as { node: object; agents: object };
    shell.write({ ...rest, agents, node: { ...node, id } });
    expect((await shell.svc("daemon", "start")).code).toBe(0);
    return shell;
  };
  const port = (shell: Shell) => JSON.parse(readFileSync(join(shell.folder, ".svc/daemon.json"), "utf8")).port as number;

  /** A beat tells the URL of a node anew; the row of a node that does not live is nobody's but ours. */
  const row = (name: string, about: object, host = hostname()) => {
    server.sql(`DELETE FROM "${store.schema}".node WHERE name = '${name}'`);
    server.sql(`INSERT INTO "${store.schema}".node (folder, name, host, lease_until, about)
      VALUES ('${name}', '${name}', '${host}', clock_timestamp() + interval '1 hour', '${JSON.stringify(about)}')`);
  };

  beforeAll(async () => {
    server = await startPostgres();
    store = server.schema();
    folder = mkdtempSync(join(tmpdir(), "svc-other-node-"));
    [ca, key] = [join(folder, "ca.pem"), join(folder, "key.pem")];
    const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
    execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key, "-out", ca, ...subject], { stdio: "ignore" });
    one = await open("n1", {});
    two = await open("n2", { mesh: { enabled: true, peers: [{ name: "ops", url: "http://127.0.0.1:1", token: TOKEN }] } });
    trusting = openLines({ NODE_EXTRA_CA_CERTS: ca });
    asked = { svc: (...line) => trusting.run(one.folder, line, { SVC_TOKEN: TOKEN }) };
    await vi.waitFor(
      async () => {
        const { nodes } = await lines(one).json<{ nodes: { about?: object }[] }>("node", "list");
        expect(nodes.filter(({ about }) => about !== undefined)).toHaveLength(2);
      },
      { timeout: 20_000 },
    );
  });
  afterAll(async () => {
    trusting?.close();
    await one?.end();
    await two?.end();
    await server?.stop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });

  /** What stands before n2 as another machine would reach it, at a base path; keeps the headers of each request. */
  async function proxy(target: number | "redirect") {
    const heard: IncomingHttpHeaders[] = [];
    const at = createServer({ key: readFileSync(key), cert: readFileSync(ca) }, (incoming, reply) => {
      heard.push(incoming.headers);
      if (target === "redirect") return void reply.writeHead(302, { location: "https://127.0.0.1:1/" }).end();
      if (!incoming.url?.startsWith("/svc/")) return void reply.writeHead(404).end();
      const headers = { ...incoming.headers, host: `127.0.0.1:${target}`, "x-forwarded-for": "192.0.2.7" };
      const passed = request({ host: "127.0.0.1", port: target, method: incoming.method, path: incoming.url.slice("/svc".length), headers }, (answer) => {
        reply.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(reply);
      });
      passed.on("error", () => reply.destroy());
      incoming.pipe(passed);
    });
    await new Promise<void>((resolve) => at.listen(0, "127.0.0.1", resolve));
    return { heard, url: `https://localhost:${(at.address() as AddressInfo).port}/svc/`, [Symbol.asyncDispose]: async () => void at.close() };
  }

  it("asks the one that listens on this machine as a local caller, wherever the option stands; the own node.id is the own daemon", async () => {
    const names = async (...line: string[]) => (await lines(one).json<{ name: string }[]>(...line)).map(({ name }) => name);
    expect(await names("agent", "list")).toEqual(["Echo of n1"]);
    expect(await names("agent", "list", "--node", "n2")).toEqual(["Echo of n2"]);
    expect(await names("--node", "n2", "agent", "list")).toEqual(["Echo of n2"]);
    expect(await names("agent", "list", "--node", "n1")).toEqual(["Echo of n1"]);
    expect(await lines(one).json("task", "list", "--node=n2")).toEqual([]);
    expect(await lines(one).json("daemon", "status", "--node", "n2")).toMatchObject({
      node: { id: "n2" },
      folder: two.folder,
      address: `http://127.0.0.1:${port(two)}`,
    });
    expect((await lines(one).svc("config", "get", "node.id", "--node", "n1")).out).toContain("n1");
  });

  it("refuses what works on the folder before it does anything, plugins' commands too", async () => {
    const before = readFileSync(join(one.folder, "svc.json"), "utf8");
    for (const line of [
      ["config", "set", "retention.traceDays", "3"],
      ["daemon", "stop"],
      ["agent", "remove", "echo"],
      ["token", "create", "--name", "x", "--scope", "dashboard:read"],
    ]) {
      const { code, err, out } = await lines(one).svc(...line, "--node", "n2", "--json");
      expect([line, code, out, JSON.parse(err)]).toEqual([line, 1, "", { code: "SVC_CLI_NODE_LOCAL", error: expect.stringContaining("n2") }]);
    }
    expect(readFileSync(join(one.folder, "svc.json"), "utf8")).toBe(before);
    expect((await lines(one).svc("agent", "list")).code).toBe(0);
    expect((await lines(one).svc("token", "list")).out).toContain("There are no tokens");
    expect((await lines(one).svc("daemon", "deploy", "x", "--node", "relative", "--help")).out).toContain("--node <path>");
  });

  it("asks over TLS at a base path with the token, says what to do without one, and hands neither secret nor instance over", async () => {
    await using at = await proxy(port(two));
    const { instance } = (await lines(one).json<{ nodes: { name: string; about: { instance: string } }[] }>("node", "list")).nodes.find(
      ({ name }) => name === "n2",
    )?.about ?? { instance: "" };
    row("n9", { version: "1", instance, url: at.url, troubles: [], settings: {} }, "elsewhere");
    // The daemon behind it calls itself n2, which only its own machine is told.
    const program = await openShell({ SVC_TOKEN: TOKEN, NODE_EXTRA_CA_CERTS: ca }, one.folder);
    const told = await program.svc("agent", "list", "--node", "n9", "--json");
    expect(told).toEqual({ code: 0, err: "", out: expect.stringContaining("Echo of n2") });
    expect(at.heard.map(({ authorization }) => authorization)).toEqual([undefined, `Bearer ${TOKEN}`]);
    expect(at.heard.flatMap((headers) => Object.keys(headers)).filter((name) => name.startsWith("x-svc"))).toEqual([]);
    const there = await asked.svc("daemon", "status", "--node", "n9");
    expect(there).toMatchObject({ code: 0, out: expect.stringMatching(/^It is running\. .*svc node list\n$/) });
    const refused = await trusting.run(one.folder, ["agent", "list", "--node", "n9", "--json"]);
    expect(JSON.parse(refused.err)).toEqual({ code: "SVC_CLI_NODE_TOKEN", error: expect.stringContaining("SVC_TOKEN is not set") });
    const wrong = await trusting.run(one.folder, ["agent", "list", "--node", "n9"], { SVC_TOKEN: "wrong-token" });
    expect(wrong).toMatchObject({ code: 1, err: expect.stringContaining("does not open this") });
    expect(wrong.err).not.toContain("wrong-token");
    const untrusting = await lines(one).svc("agent", "list", "--node", "n9");
    expect(untrusting).toMatchObject({ code: 1, err: expect.stringMatching(/does not answer.*certificate/) });
  });

  it("shows the token to no other daemon, redirect, address in clear text or URL with a password", async () => {
    const heard: IncomingHttpHeaders[] = [];
    const fake = createPlain((incoming, reply) => {
      heard.push(incoming.headers);
      reply.setHeader("content-type", "application/json").end(JSON.stringify({ ok: true, state: "running", node: { id: "n3" } }));
    });
    await new Promise<void>((resolve) => fake.listen(0, "127.0.0.1", resolve));
    const { port: fakePort } = fake.address() as AddressInfo;
    await using redirecting = await proxy("redirect");
    await using own = await proxy(port(one));
    await using another = await proxy(port(two));
    const judged = async (about: object, host?: string) => {
      row("n9", { version: "1", troubles: [], settings: {}, ...about }, host);
      const { code, err } = await asked.svc("agent", "list", "--node", "n9", "--json");
      expect(code).not.toBe(0);
      expect(err).not.toContain(TOKEN);
      return JSON.parse(err) as { code: string; error: string };
    };
    expect(await judged({ bind: `127.0.0.1:${fakePort}` })).toMatchObject({ code: "SVC_CLI_NODE_OTHER", error: expect.stringContaining("n3") });
    expect(heard.map(({ authorization }) => authorization)).toEqual([undefined]);
    for (const { url, heard } of [redirecting, own]) {
      expect(await judged({ url })).toMatchObject({ code: "SVC_CLI_NODE_OTHER" });
      expect(heard.map(({ authorization }) => authorization)).toEqual([undefined]);
    }
    // A daemon of svc that is not the one that has told the URL.
    expect(await judged({ url: another.url, instance: "00000000-0000-4000-8000-000000000000" })).toMatchObject({ code: "SVC_CLI_NODE_OTHER" });
    expect(another.heard.map(({ authorization }) => authorization)).toEqual([undefined]);
    const plain = `http://127.0.0.1:${fakePort}`;
    expect(await judged({ url: "http://192.0.2.1:18800" })).toMatchObject({ code: "SVC_CLI_NODE_PLAIN", error: expect.stringContaining("ssh") });
    expect(await judged({ url: plain }, "elsewhere")).toMatchObject({ code: "SVC_CLI_NODE_PLAIN" });
    const secret = await judged({ url: "https://me:pass-word@localhost/" });
    expect(secret).toMatchObject({ code: "SVC_CLI_NODE_ADDRESS" });
    expect(secret.error).not.toContain("pass-word");
    expect(await judged({ bind: `127.0.0.1:${fakePort}` }, "elsewhere")).toMatchObject({
      code: "SVC_CLI_NODE_ADDRESS",
      error: expect.stringContaining("node.url"),
    });
    expect(heard).toHaveLength(1);
    fake.close();
  });

  it("names svc node list for a daemon that does not live", async () => {
    const { err } = await lines(one).svc("agent", "list", "--node", "n7", "--json");
    expect(JSON.parse(err)).toEqual({ code: "SVC_CLI_MISSING", error: expect.stringMatching(/n7.*svc node list/) });
  });
});

it.skipIf(ON_SERVER !== undefined)("--node at a store that one daemon uses alone says so, and SVC_TOKEN reaches no daemon that svc starts", async () => {
  const shell = await openShell({ SVC_TOKEN: TOKEN });
  shell.write(echoConfig());
  expect((await shell.svc("daemon", "start")).code).toBe(0);
  expect(readFileSync(`/proc/${shell.pid()}/environ`, "utf8")).not.toContain(TOKEN);
  const { err } = await shell.svc("agent", "list", "--node", "n2", "--json");
  expect(JSON.parse(err)).toEqual({ code: "SVC_CLI_USAGE", error: expect.stringContaining("one daemon alone") });
  await shell.end();
});
