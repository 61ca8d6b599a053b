import { randomBytes } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Envelope } from "@svc/sdk";
import { describe, expect, it, vi } from "vitest";
import { openTokenFile } from "../../plugins/features/tokens/token-file.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { bearer, framesOf, get, guarded, processIn, REMOTE, send, svcIn } from "./auth.harness.ts";

const canary = (name: string) => `canary-${name}-${randomBytes(12).toString("hex")}`;

/** Everything below `folder` as one text. */
async function everyFile(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  expect(files.length).toBeGreaterThan(3);
  return (await Promise.all(files.map((file) => readFile(join(file.parentPath, file.name), "latin1")))).join("\n");
}

it("FAULT-59 a secret in any place that holds one is found in no log, event, trace, error, answer, command or file but its own", async () => {
  const secrets = {
    PROVIDER_KEY: canary("provider"),
    DASHBOARD_TOKEN: canary("dashboard"),
    FAR_TOKEN: canary("far"),
    FAR_DASHBOARD_TOKEN: canary("far-dashboard"),
    MESH_TOKEN: canary("mesh"),
  };
  const at = await guarded({
    dashboard: {
      token: "${DASHBOARD_TOKEN}",
      daemons: [{ name: "far", url: "http://127.0.0.1:9", token: "${FAR_TOKEN}", dashboardToken: "${FAR_DASHBOARD_TOKEN}" }],
    },
    config: {
      providers: { anthropic: { apiKey: "${PROVIDER_KEY}" } },
      mesh: { enabled: true, peers: [{ name: "b", url: "http://127.0.0.1:9", token: "${MESH_TOKEN}" }] },
    },
    env: secrets,
  });
  const heard: string[] = [];
  const hear = (text: string | undefined) => void heard.push(text ?? "");
  at.kernel.bus.subscribe((envelope: Envelope) => hear(JSON.stringify(envelope)));
  const { id, secret: scoped } = await at.token("agent:foo", "dashboard:read");
  const all = { ...secrets, SCOPED: scoped };
  const { DASHBOARD_TOKEN, MESH_TOKEN, FAR_TOKEN } = secrets;

  // Traffic: what works, what is refused, what fails, what is malformed.
  const stream = framesOf(await fetch(`${at.dashboard}/api/live/stream?token=${DASHBOARD_TOKEN}`));
  hear(JSON.stringify((await stream.next()).value));
  const messages = "/api/public/agents/foo/messages";
  const answers = [
    await send(at.dashboard, messages, { message: "hello" }, bearer(scoped)),
    await send(at.dashboard, messages, { message: "throw it" }, bearer(scoped)),
    await send(at.dashboard, messages, "{", bearer(scoped)),
    await send(at.dashboard, messages, { message: "x" }, bearer(DASHBOARD_TOKEN)),
    await send(at.dashboard, `${messages}?token=${scoped}&x=1`, { message: "by query" }),
    await get(at.dashboard, `/api/live?token=${DASHBOARD_TOKEN}&extra=1`),
    await get(at.dashboard, `/api/nowhere?token=${DASHBOARD_TOKEN}`),
    await get(at.dashboard, "/api/live", bearer(MESH_TOKEN)),
    await get(at.dashboard, "/api/live", { authorization: `Basic ${DASHBOARD_TOKEN}`, cookie: `token=${DASHBOARD_TOKEN}` }),
    await send(at.dashboard, "/api/task/action?node=http://127.0.0.1:9&task=x&kind=cancel", {}, bearer(DASHBOARD_TOKEN)),
    await send(at.dashboard, "/api/task/action?node=http://127.0.0.1:8&task=x&kind=cancel", {}, bearer(DASHBOARD_TOKEN)),
    await get(at.dashboard, "/api/task/history", bearer(DASHBOARD_TOKEN)),
    await get(at.daemon, "/traces", { ...REMOTE, ...bearer(MESH_TOKEN) }),
    await get(at.daemon, `/traces?token=${MESH_TOKEN}`, REMOTE),
    await get(at.daemon, "/traces", { ...REMOTE, ...bearer(FAR_TOKEN) }),
    await get(at.daemon, "/health"),
    await get(at.daemon, "/agents"),
    await get(at.daemon, "/events/recent"),
    await send(at.daemon, "/task", { agent: "foo", message: "fail now" }),
    await send(at.daemon, "/reload"),
  ];
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 400, 401, 403, 404, 502]));
  for (const { text, headers } of answers) hear(text + JSON.stringify([...headers]));
  for (const trace of await at.kernel.traces.list()) hear(JSON.stringify(await at.kernel.traces.get(trace.id)));
  await writeFile(join(at.folder, "svc.json"), (await readFile(join(at.folder, "svc.json"), "utf8")).replace('"port": 0', '"port": -1'));
  hear(JSON.stringify((await send(at.daemon, "/reload")).body));
  for (const args of [
    ["config", "show"],
    ["config", "get", "dashboard.token"],
    ["config", "get", "mesh"],
    ["config", "check"],
    ["config", "set", "dashboard.port", "x"],
    ["token", "list"],
    ["token", "revoke", id],
  ]) {
    const { stdout, stderr } = await at.svc(...args);
    hear(stdout + stderr);
  }
  await stream.return(undefined);
  await at.kernel.stop();

  const files = await everyFile(at.folder);
  expect(await readFile(at.logFile, "utf8")).not.toBe("");
  for (const [name, value] of Object.entries(all)) {
    const spellings = [value, encodeURIComponent(value), Buffer.from(value).toString("base64"), JSON.stringify(value).slice(1, -1)];
    for (const spelling of spellings) {
      expect(
        heard.filter((text) => text.includes(spelling)),
        `${name} in what was heard`,
      ).toEqual([]);
      expect(files.includes(spelling), `${name} in a file`).toBe(false);
    }
  }
});

describe("svc config", () => {
  it("FAULT-59 show and get mask every secret, written out or by reference, unless --reveal asks for it", async () => {
    const folder = await temporaryFolder();
    const secrets = { literal: canary("literal"), reference: canary("reference"), peer: canary("peer") };
    const config = {
      node: { id: "n1", name: "Node" },
      agents: {},
      dashboard: { enabled: true, token: secrets.literal, daemons: [{ name: "far", url: "http://127.0.0.1:9", token: "${REFERENCE}" }] },
      mesh: { enabled: true, peers: [{ name: "b", url: "http://127.0.0.1:9", token: secrets.peer }] },
    };
    await writeFile(join(folder, "svc.json"), JSON.stringify(config));
    const svc = (...args: string[]) => svcIn(folder, args, { REFERENCE: secrets.reference });
    const masked = [
      await svc("config", "show"),
      await svc("--json", "config", "show"),
      await svc("config", "get", "dashboard"),
      await svc("config", "get", "dashboard.token"),
    ];
    for (const { code, stdout, stderr } of masked) {
      expect([code, stdout]).toEqual([0, expect.stringContaining("***")]);
      for (const secret of Object.values(secrets)) expect(stdout + stderr).not.toContain(secret);
    }
    const shown = await svc("config", "show", "--reveal");
    for (const secret of Object.values(secrets)) expect(shown.stdout).toContain(secret);
    expect((await svc("config", "get", "dashboard.token", "--reveal")).stdout.trim()).toBe(secrets.literal);
  });

  it("FAULT-57 set refuses paths through the prototype, and nothing of it reaches the file or the program", async () => {
    const at = await guarded({ dashboard: false });
    const file = join(at.folder, "svc.json");
    const before = await readFile(file, "utf8");
    for (const path of ["__proto__.x", "constructor.prototype.x", "agents.__proto__.tier", "agents.foo.constructor.prototype.x", "prototype.x"]) {
      const { code, stderr } = await at.svc("config", "set", path, "polluted");
      expect(code, path).not.toBe(0);
      expect(stderr, path).toMatch(/path|key|not allowed/i);
    }
    expect(await readFile(file, "utf8")).toBe(before);
    expect((await send(at.daemon, "/task", '{"agent":"foo","message":"x","__proto__":{"x":1}}')).status).toBe(400);
    expect(({} as { x?: unknown }).x).toBeUndefined();
  });
});

it("FAULT-58 a mention spelled with other forms or invisible characters of the same letters is that agent; a look-alike of other letters is none", async () => {
  const at = await guarded({ dashboard: false });
  const answer = async (mention: string) => {
    const { agent, ok } = await at.kernel.tasks.run({ entry: "channel", channel: "http", chat: "c", text: "hello", mentions: [mention] });
    return ok ? agent : undefined;
  };
  for (const same of ["foo", "FOO", "@foo", "ｆｏｏ", "f\u200boo", "\u202efoo", "fo\u00ado"]) expect(await answer(same), JSON.stringify(same)).toBe("foo");
  for (const other of ["fоo", "fοο", "f0o", "fo", "foo bar", "oof"]) expect(await answer(other), JSON.stringify(other)).toBeUndefined();
});

it("FAULT-60 escape codes and line ends that callers send stay inside their line of the log", async () => {
  const at = await guarded();
  const evil = "\u001b[31mred\u001b[0m\u009b";
  await get(at.dashboard, `/${encodeURIComponent(`x\n{"level":60,"msg":"forged"}`)}`);
  await send(
    at.dashboard,
    "/api/task/action?node=http://localhost:18800&task=%1b%5b31m&kind=cancel",
    { reason: `${evil}\nforged` },
    { "user-agent": "\u009b31m" },
  );
  const { secret } = await at.token("agent:foo");
  await send(at.dashboard, "/api/public/agents/foo/messages", { message: "throw", context: { sender: `${evil}\n{"level":60}` } }, bearer(secret));
  await at.kernel.stop();
  const log = await readFile(at.logFile, "utf8");
  const lines = log.trimEnd().split("\n");
  for (const line of lines) {
    expect(() => JSON.parse(line)).not.toThrow();
    expect(line).not.toMatch(/[\u0000-\u001f\u007f]/);
  }
  expect(lines.map((line) => (JSON.parse(line) as { level: number }).level)).not.toContain(60);
});

it("AUTH-06 two processes that change tokens at once lose nothing of each other", async () => {
  const folder = await temporaryFolder();
  const made = await Promise.all(
    Array.from({ length: 6 }, (_, number) => processIn(folder, ["token", "create", "--name", `t${number}`, "--scope", "agent:*"])),
  );
  expect(made.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0, 0]);
  const { createFolder } = await import("@svc/kernel/folder");
  const file = openTokenFile(createFolder(join(folder, ".svc")));
  expect(
    file
      .read()
      .map(({ name }) => name)
      .sort(),
  ).toEqual(["t0", "t1", "t2", "t3", "t4", "t5"]);
  await vi.waitFor(async () => expect(await readdir(join(folder, ".svc"))).toEqual(["tokens.json"]));
});
