import { createHmac } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "@svc/sdk";
import { afterEach, describe, expect, it } from "vitest";
import { endPrograms, startProgram } from "../kit/attach.ts";
import { AGENTS, type Guarded, guarded } from "./auth.harness.ts";
import { channelOf, MemoryForge } from "./hook-forge.harness.ts";
import { type Ask, askJudged, FIRST_PARTY, JUDGED_APART } from "./openapi-answers.harness.ts";
import { phoneMessage, SECRET, signed } from "./phn-triage.harness.ts";

afterEach(endPrograms);

const config = {
  agents: { ...AGENTS, foobar: { ...AGENTS.foobar, maxConcurrent: 1 }, coder: { name: "Coder", workspace: "./w", tier: "cli-a" } },
  phoneTriage: { enabled: true, rules: [{ id: "r", chats: ["+49 151 1234567"], agent: "foo" }] },
  channels: { forge_a: { enabled: false, webhookPort: 0 } },
};

/** What reaches only public addresses is asked in vain: tests stay on this machine. */
const UNASKED = ["POST /a2a/notify"];

const calls = (ask: Ask, pid: number, program = "claude") => ({
  hook: (name: string, session: string, fields: object = {}) =>
    ask("POST", `/attach/${name}`, { session_id: session, cwd: "/work", ...fields }, { "x-svc-pid": String(pid), "x-svc-program": program }),
  does: (name: string, body: object = {}) => ask("POST", `/attach/${name}`, { pid, ...body }),
});

async function askAttach(at: Guarded, ask: Ask): Promise<void> {
  const [one, two] = [await startProgram(at.daemon), await startProgram(at.daemon)];
  const [mine, other] = [calls(ask, one.pid), calls(ask, two.pid, "gemini")];
  const steps = () => at.kernel.tasks.running().filter(({ step }) => step === "waiting").length;
  const sent = async (message: string, count: number) => {
    const answer = ask("POST", "/task", { agent: "foo", message }, { accept: "application/json" });
    await expect.poll(steps, { timeout: 20_000 }).toBe(count);
    return { answer };
  };
  await mine.does("bind", { agent: "foo" });
  await mine.hook("session-start", "s1", { source: "startup", permission_mode: "default" });
  await other.hook("session-start", "s2");
  await mine.does("next");
  await mine.does("detach");
  await mine.does("bind", { agent: "nobody" });
  await mine.does("bind", { agent: "foo", mode: "notify" });
  expect(await mine.hook("session-start", "s1")).toMatchObject({ systemMessage: expect.any(String) });
  const first = await sent("hello", 1);
  expect(await mine.hook("prompt", "s1", { prompt: "x" })).toMatchObject({ hookSpecificOutput: expect.any(Object) });
  const { items } = (await mine.does("next", { max: 1 })) as { items: { id: string }[] };
  await ask("GET", "/attach/sessions");
  await mine.does("answer", { id: items[0]?.id });
  await mine.does("answer", { id: "m999", text: "t" });
  expect(await mine.does("answer", { id: items[0]?.id, text: "the answer" })).toEqual({ state: "answered" });
  await mine.does("answer", { id: items[0]?.id, text: "again" });
  expect(await first.answer).toMatchObject({ reply: "the answer" });
  expect(await other.does("bind", { agent: "foo", mode: "auto" })).toMatchObject({ movedFrom: "s1" });
  await other.hook("prompt", "s2", { prompt: "x" });
  const second = await sent("more", 1);
  const told = (await other.hook("stop", "s2")) as { decision?: string; reason?: string };
  expect(told.decision).toBe("deny");
  const id = /\[(m\d+)\]/.exec(told.reason ?? "")?.[1];
  expect(await other.does("answer", { id, refuse: "no time" })).toEqual({ state: "refused" });
  await second.answer;
  await other.hook("stop", "s2");
  const waited = other.hook("wait", "s2");
  await expect.poll(async () => JSON.stringify(await ask("GET", "/attach/sessions")), { timeout: 20_000 }).toContain('"wakeable":true');
  const third = await sent("wake", 1);
  await waited;
  await other.does("detach", { agent: "foo" });
  await third.answer;
  await other.does("detach", { agent: "foo" });
  await ask("POST", "/attach/stop", "no json");
  const ending = other.hook("wait", "s2");
  await other.hook("session-end", "s2", { reason: "other" });
  await ending;
}

async function askGuard(ask: Ask): Promise<void> {
  const question = { agent: "coder", tool: "Bash", input: { command: "git push origin main" } };
  for (const autonomy of ["report", "propose", "act"]) await ask("POST", "/guard/check", { ...question, autonomy, taskId: "t1" });
  await ask("POST", "/guard/check", { ...question, autonomy: "report", tool: "Read", input: { file_path: "a.md" } });
  await ask("POST", "/guard/check", { ...question, agent: "nobody", autonomy: "act" });
  await ask("POST", "/guard/check", { ...question, autonomy: "any" });
  expect((await ask("GET", "/guard/log"))["entries"]).not.toEqual([]);
  for (const limit of ["1", "0"]) await ask("GET", `/guard/log?limit=${limit}`);
}

async function askForge(at: Guarded, forge: MemoryForge, ask: Ask, hooks: Ask): Promise<void> {
  const delivered = (body: object) => {
    const signature = createHmac("sha256", forge.secret ?? "").update(JSON.stringify(body));
    return hooks("POST", "/webhook/forge_b", body, { "x-forge-signature-256": `sha256=${signature.digest("hex")}` });
  };
  const status = async () => (await ask("GET", "/forges?limit=500")) as { forges: { runs: object[] }[]; decisions: { reason?: string }[] };
  // The agent is busy meanwhile, so that its run on the note stays to be seen.
  const busy = ask("POST", "/task", { agent: "foobar", message: "hold" }, { accept: "application/json" });
  await expect.poll(() => at.tier.held, { timeout: 20_000 }).toBe(1);
  expect(await delivered({ kind: "note", note: forge.write("@foobar hello") })).toEqual({ accepted: 1 });
  await expect.poll(async () => (await status()).forges[0]?.runs.length, { timeout: 20_000 }).toBe(1);
  for (const { id, agent } of at.kernel.tasks.running()) if (agent === "foobar") await ask("POST", `/api/tasks/${id}/cancel`, {});
  await busy;
  await delivered({ kind: "note", note: forge.write("nobody is meant") });
  await delivered({ kind: "other" });
  await hooks("POST", "/webhook/forge_b", {});
  await hooks("POST", "/webhook/forge_b", {}, { "x-forge-signature-256": "sha256=00" });
  forge.listed = true;
  forge.write("of a list");
  await ask("POST", "/forges/forge_b/backfill");
  await ask("POST", "/forges/none/backfill");
  await expect.poll(async () => (await status()).decisions.some(({ reason }) => reason !== undefined), { timeout: 20_000 }).toBe(true);
  expect((await status()).forges[0]).toHaveProperty("looked");
  await ask("GET", "/forges?limit=0");
}

describe("answers of routes that other programs of this machine call are those that GET /openapi.json names", { timeout: 120_000 }, () => {
  it("of the attached sessions, the guard, the forges, the synced phone chats and the notifications of A2A", async () => {
    const forge = new MemoryForge("forge_b", ["foobar"]);
    const known = FIRST_PARTY.filter((folder) => !folder.endsWith("forge-b"));
    const env = { PATH: process.env["PATH"] ?? "", WACLI_WEBHOOK_SECRET: SECRET };
    const at = await guarded({ config, env, plugins: [channelOf(forge) as Plugin<never>], options: { known } });
    mkdirSync(join(at.folder, "w"), { recursive: true });
    const port = () => at.kernel.servers.find(({ name }) => name === "forge")?.port;
    await expect.poll(port, { timeout: 20_000 }).toBeGreaterThan(0);
    const bases = { daemon: at.daemon, forge: `http://127.0.0.1:${port()}` };
    const asking = await askJudged(at, bases, JUDGED_APART.hosts);
    const ask = asking.on("daemon");
    await askGuard(ask);
    await askAttach(at, ask);
    await askForge(at, forge, ask, asking.on("forge"));
    const message = JSON.stringify(phoneMessage());
    await ask("POST", "/webhook/wacli", message, signed(message));
    await ask("POST", "/webhook/wacli", message, signed("another"));
    await ask("POST", "/webhook/wacli", message);
    await ask("POST", "/a2a/notify", { url: "https://127.0.0.1:9/hook", payload: {} });
    await ask("POST", "/a2a/notify", { url: "http://example.org", payload: {} });
    expect(asking.wrong).toEqual([]);
    expect(asking.unasked()).toEqual(UNASKED);
  });
});
