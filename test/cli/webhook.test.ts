import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { echoConfig, openShell, type Shell } from "../kit/svc.ts";

const SECRET = "CANARY-webhook-secret-1";
let shell: Shell;
afterEach(async () => {
  await shell.svc("daemon", "stop");
});

const hook = (more: object = {}) => ({ id: "builds", source: "ci", agentId: "echo", secretEnv: "CI_SECRET", ...more });
const addressOf = () => `http://127.0.0.1:${(JSON.parse(readFileSync(join(shell.folder, ".svc/daemon.json"), "utf8")) as { port: number }).port}`;

it("FAULT-38 svc webhook lists, shows and tests webhooks of a real daemon; a delivery counts once over a restart, a changed entry after a reload", {
  timeout: 120_000,
}, async () => {
  shell = await openShell({ CI_SECRET: SECRET });
  shell.write(
    echoConfig(
      {},
      { webhooks: [hook(), hook({ id: "unset", source: "unset", secretEnv: "NOT_SET_HERE" }), hook({ id: "off", source: "off", enabled: false })] },
    ),
  );
  expect((await shell.svc("config", "check")).code).toBe(0);
  expect(await shell.svc("daemon", "start")).toMatchObject({ code: 0 });
  const listed = await shell.svc("webhook", "list");
  expect(listed.out.split("\n").slice(0, 3)).toEqual([
    "builds  POST /webhook/echo/ci  signed",
    "unset  POST /webhook/echo/unset  refuses everything: the variable of secretEnv is not set",
    "off  POST /webhook/echo/off  off",
  ]);
  const tested = await shell.json<{ taskId: string }>("webhook", "test", "builds", "--body", '{"type":"ping"}');
  expect(tested.taskId).toMatch(/^task_/);
  expect(await shell.svc("webhook", "test", "builds", "--body", "[1]")).toMatchObject({ code: 2, err: expect.stringContaining("JSON object") });
  expect(await shell.svc("webhook", "test", "unset")).toMatchObject({ code: 1, err: expect.stringContaining("is not set") });
  expect((await shell.svc("webhook", "show", "nowhere")).err).toContain("There is no webhook 'nowhere'");
  const body = '{"type":"build"}';
  const post = (path: string) =>
    fetch(addressOf() + path, {
      method: "POST",
      body,
      headers: { "content-type": "application/json", "x-hub-signature-256": `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}` },
    });
  expect((await post("/webhook/echo/ci")).status).toBe(202);
  const shown = (await shell.svc("webhook", "show", "builds")).out.trim().split("\n");
  expect(shown).toHaveLength(3);
  expect(shown[1]).toMatch(/ {2}accepted {2}build {2}sha256:[0-9a-f]{64} {2}16 bytes {2}task_/);
  expect(shown[2]).toMatch(/ {2}accepted {2}ping {2}id:test-\S+ {2}15 bytes {2}task_/);
  // The same bytes are the same delivery in the next daemon, too (FAULT-38).
  expect((await shell.svc("daemon", "restart")).code).toBe(0);
  expect((await post("/webhook/echo/ci")).status).toBe(200);
  expect((await shell.svc("webhook", "show", "builds")).out).toMatch(/ {2}duplicate {2}build {2}/);
  expect((await post("/webhook/echo/off")).status).toBe(404);
  shell.write({ ...shell.config(), webhooks: [hook({ id: "off", source: "off" })] });
  expect((await fetch(`${addressOf()}/reload`, { method: "POST" })).status).toBe(200);
  expect((await post("/webhook/echo/off")).status).toBe(202);
  expect((await post("/webhook/echo/ci")).status).toBe(404);
  expect(JSON.stringify([listed, shown, await shell.json("webhook", "list")])).not.toContain(SECRET);
});
