import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "@svc/sdk";
import { describe, expect, it, vi } from "vitest";
import notifications from "../../plugins/features/notifications/index.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { crashed, settled, stage, until } from "./cron.harness.ts";

const NIGHTLY = { schedule: "30 2 * * *", agent: "a" };
const MINUTE = new Date("2026-11-22T02:30:00Z");

describe("failures in a row", () => {
  it("CRON-01 fail, restart, fail, restart, fail: the job is off in the file, references and the rest of it as they were", async () => {
    let now = await stage(
      { bad: { ...NIGHTLY, prompt: "fail", onError: ["log", "disable"], fireToken: "${FIRE_TOKEN}" }, good: { ...NIGHTLY, prompt: "hello" } },
      { env: { FIRE_TOKEN: "s3cret-of-the-job" } },
    );
    const before = now.text();
    for (const failures of [1, 2]) {
      expect(await now.ran("bad")).toMatchObject({ status: "failed", error: "the engine said no", by: "manual" });
      await settled(now, "bad", failures);
      expect(now.text()).toBe(before);
      await now.stop();
      now = await stage(undefined, { folder: now.folder, env: { FIRE_TOKEN: "s3cret-of-the-job" } });
      expect(await now.job("bad")).toMatchObject({ failures, enabled: true });
    }
    await now.ran("bad");
    await until(() => now.file().crons["bad"]?.enabled === false);
    await settled(now, "bad", 0);
    expect(now.text()).toContain('"fireToken": "${FIRE_TOKEN}"');
    expect(now.text().replace(/,\s*"enabled": false/, "")).toBe(before);
    expect(now.clock.has("bad")).toBe(false);
    expect(now.clock.has("good")).toBe(true);
    expect(await now.job("bad")).toMatchObject({ enabled: false, turnedOff: expect.any(Number) });
    expect(now.notices.at(-1)).toMatch(/'bad' \(agent a\) failed: the engine said no.*number 3 in a row.*turned off now.*svc schedule on bad/);
    expect(now.events.some(({ type }) => type === "cron:disabled")).toBe(true);
    // Somebody turns it on: it has three failures before it again.
    await now.ctx().settings.change([{ path: ["crons", "bad", "enabled"], value: true }], { by: "a test" });
    await now.ran("bad");
    await settled(now, "bad", 1);
    expect(now.file().crons["bad"]?.enabled).toBe(true);
  });

  it("CRON-01 a success starts the count anew, and disable works alone", async () => {
    const folder = await temporaryFolder();
    const broken = join(folder, "broken");
    const now = await stage({ flaky: { ...NIGHTLY, command: `test ! -e ${broken}`, onError: "disable" } }, { folder });
    writeFileSync(broken, "");
    for (const failures of [1, 2]) {
      await now.ran("flaky");
      await settled(now, "flaky", failures);
    }
    rmSync(broken);
    expect(await now.ran("flaky")).toMatchObject({ status: "ok", exitCode: 0 });
    await settled(now, "flaky", 0);
    writeFileSync(broken, "");
    for (const failures of [1, 2]) {
      await now.ran("flaky");
      await settled(now, "flaky", failures);
      expect(now.file().crons["flaky"]?.enabled).toBeUndefined();
    }
    await now.ran("flaky");
    await until(() => now.file().crons["flaky"]?.enabled === false);
  });

  it("CRON-01 a crash between the third failure and turning off: the next start turns it off", async () => {
    const first = await stage({ bad: { ...NIGHTLY, prompt: "fail", onError: "disable" } });
    for (const failures of [1, 2]) {
      await first.ran("bad");
      await settled(first, "bad", failures);
    }
    const copy = await crashed(first);
    const second = await stage(undefined, { folder: copy });
    // As the crash leaves it: the third failure is counted, and what follows from it is owed.
    const { id } = ((await second.runs("bad"))[0] ?? {}) as unknown as { id: string };
    await second
      .ctx()
      .store.collection("streaks")
      .put("bad", { failures: 3, owed: `bad/${id}` });
    await second.stop();
    const third = await stage(undefined, { folder: copy });
    await until(() => third.file().crons["bad"]?.enabled === false);
    await settled(third, "bad", 0);
    expect(third.tier.prompts).toEqual([]);
  });

  it("CRON-02 with onError log a message goes out from the second failure on, one for each", async () => {
    const now = await stage({ bad: { ...NIGHTLY, prompt: "fail", notify: { channel: "mail", chatId: "ops" } }, worse: { ...NIGHTLY, prompt: "fail" } });
    for (const failures of [1, 2, 3]) {
      await now.ran("bad");
      await settled(now, "bad", failures);
    }
    await until(() => now.sent.length === 2);
    expect(now.sent.map(({ chat }) => chat)).toEqual(["ops", "ops"]);
    expect(now.sent.map(({ text }) => /number (\d)/.exec(text)?.[1])).toEqual(["2", "3"]);
    expect(now.notices).toEqual([]);
    for (const failures of [1, 2]) {
      await now.ran("worse");
      await settled(now, "worse", failures);
    }
    expect(now.notices).toEqual([expect.stringContaining("'worse' (agent a) failed")]);
    expect(now.file().crons["bad"]?.enabled).toBeUndefined();
  });

  it("CRON-02 a job without notify is told of where notices go", async () => {
    const destination = { channel: "mail", chatId: "boss" };
    const now = await stage(
      { bad: { ...NIGHTLY, prompt: "fail" } },
      { more: [notifications as unknown as Plugin<never>], notified: true, sections: { notifications: { destination } } },
    );
    for (const failures of [1, 2]) {
      await now.ran("bad");
      await settled(now, "bad", failures);
    }
    await until(() =>
      now.sent.some(({ chat, text }) => chat === "boss" && text.includes("'bad' (agent a) failed: the engine said no. It is failure number 2 in a row.")),
    );
  });

  it("CRON-02 with onError notify the first failure is told", async () => {
    const now = await stage({ bad: { ...NIGHTLY, prompt: "fail", onError: ["notify"], notify: { channel: "mail", chatId: "ops" } } });
    await now.ran("bad");
    await until(() => now.sent.length === 1);
    expect(now.sent[0]?.text).toBe("The scheduled job 'bad' (agent a) failed: the engine said no.");
  });

  it("CRON-01 a file that cannot be changed keeps the job on, and people are told so", async () => {
    const now = await stage({ bad: { ...NIGHTLY, prompt: "fail", onError: "disable" } });
    for (const failures of [1, 2]) {
      await now.ran("bad");
      await settled(now, "bad", failures);
    }
    writeFileSync(join(now.folder, "svc.json"), "{ broken");
    await now.ran("bad");
    await settled(now, "bad", 3);
    expect(now.notices.at(-1)).toMatch(/was to be turned off, and svc.json could not be changed/);
  });
});

describe("approval", () => {
  const pending = (action: "create" | "delete") => ({ action, requestedBy: "a", requestedAt: "2026-11-22T10:00:00.000Z" });

  it("CRON-04 a job whose creation waits never runs: not by schedule, fire, hand or after a restart", async () => {
    let now = await stage({
      wait: { schedule: "* * * * *", agent: "a", prompt: "hello", fireToken: "token-of-the-job", approval: pending("create") },
      other: { ...NIGHTLY, prompt: "hello" },
    });
    for (let life = 0; life < 2; life += 1) {
      expect([...now.clock.keys()]).toEqual(["other"]);
      expect(await now.call("POST", "/crons/wait/run")).toMatchObject({ status: 409, body: { code: "SVC_CRON_PENDING" } });
      expect(await now.call("POST", "/crons/wait/fire", { headers: { authorization: "Bearer token-of-the-job" } })).toMatchObject({ status: 409 });
      expect(await now.tool("svc_schedule_resume", { id: "wait" }, "admin").catch((error) => error.code)).toBe("SVC_SCHEDULE_FOREIGN");
      expect(await now.runs("wait")).toEqual([]);
      expect(await now.job("wait")).toMatchObject({ next: [], missed: [] });
      if (life === 0) {
        await now.stop();
        now = await stage(undefined, { folder: now.folder });
      }
    }
    expect(now.tier.prompts).toEqual([]);
  });

  it("CRON-04 while its deletion waits a job runs on", async () => {
    const now = await stage({ wait: { ...NIGHTLY, prompt: "hello", approval: pending("delete") } });
    await now.clock.get("wait")?.(MINUTE);
    await vi.waitFor(async () => expect(await now.runs("wait")).toMatchObject([{ status: "ok", by: "schedule", minute: MINUTE.toISOString() }]));
    expect(now.tier.prompts).toEqual([expect.stringContaining("hello")]);
  });
});

describe("five fields", () => {
  it.each([
    [{ schedule: "* * * * * *", agent: "a", prompt: "x" }, /schedule.*it has 6 fields; write five/],
    [{ schedule: "61 9 * * *", agent: "a", prompt: "x" }, /minute '61'/],
    [{ schedule: "0 9 * * *", agent: "a" }, /neither a prompt nor a command/],
    [{ schedule: "0 9 * * *", agent: "a", prompt: "  " }, /neither a prompt nor a command/],
    [{ schedule: "0 9 * * *", agent: "a", command: "true", autonomy: "report" }, /autonomy.*not for command jobs/],
    [{ schedule: "0 9 * * *", agent: "a", prompt: "x", timezone: "Mars/Olympus" }, /timezone/],
    [{ schedule: "0 9 * * *", agent: "a", prompt: "x", maxOutputTokens: 49 }, /maxOutputTokens/],
    [{ schedule: "0 9 * * *", agent: "a", prompt: "x", onError: ["log", "shout"] }, /onError/],
    [{ schedule: "0 9 * * *", agent: "a", prompt: "x", notify: { channel: "mail" } }, /chatId/],
    [{ schedule: "0 9 * * *", agent: "a", prompt: "x", approval: { action: "create" } }, /requested/],
  ])("CRON-05 CFG-14 refuses %j", async (job, words) => {
    const now = await stage({ job });
    expect(now.events.find(({ type }) => type === "plugin:failed")?.summary).toMatch(words);
    expect([...now.clock.keys()]).toEqual([]);
  });

  it("CRON-05 the default zone is UTC, and what a job was given decides its next times", async () => {
    const now = await stage({
      utc: { schedule: "0 9 * * *", agent: "a", prompt: "x" },
      tokyo: { schedule: "0 9 * * *", timezone: "Asia/Tokyo", agent: "a", prompt: "x" },
    });
    expect((await now.job("utc")).next[0]).toMatch(/T09:00:00.000Z$/);
    expect((await now.job("tokyo")).next[0]).toMatch(/T00:00:00.000Z$/);
  });
});

describe("command jobs", () => {
  it("CRON-06 start no model and no agent; the exit status decides; on failure the agent is told", async () => {
    const now = await stage({ fine: { ...NIGHTLY, command: "echo done >&2; exit 0" }, bad: { ...NIGHTLY, agent: "b", command: "echo lost a disk; exit 3" } });
    expect(await now.ran("fine")).toMatchObject({ status: "ok", exitCode: 0, output: "done", kind: "command" });
    expect(now.tier.prompts).toEqual([]);
    expect(await now.ran("bad")).toMatchObject({ status: "failed", exitCode: 3, error: "exit status 3", output: "lost a disk" });
    await until(() => now.tier.prompts.length === 1);
    expect(now.tier.turns[0]?.turn).toMatchObject({ agent: { id: "b" }, messages: [{ entry: "cron", options: { scheduled: true } }] });
    expect(now.tier.prompts[0]).toMatch(/command 'bad' failed: exit status 3/);
    expect(now.tier.prompts[0]).toContain("lost a disk");
  });

  it("CFG-18 a command's timeout is seconds, and ends it with all it started", async () => {
    const now = await stage({ slow: { ...NIGHTLY, command: "sleep 300 & sleep 300", timeout: 1 } });
    expect(await now.ran("slow")).toMatchObject({ status: "failed", errorKind: "timeout", error: "timed out after 1s" });
  });

  it("its environment is the scrubbed one, and what svc.json expanded is not in the list of processes", async () => {
    const now = await stage(
      { env: { ...NIGHTLY, command: "env; tr '\\\\0' ' ' < /proc/$$/cmdline; echo has ${JOB_SECRET}" } },
      { env: { JOB_SECRET: "canary-of-the-daemon", OTHER_SECRET: "other-canary" } },
    );
    const { output = "" } = await now.ran("env");
    expect(output).toContain("has canary-of-the-daemon");
    expect(output.match(/canary-of-the-daemon/g)).toHaveLength(1);
    expect(output).not.toContain("other-canary");
    expect(output).toMatch(/^PATH=/m);
    expect(output).not.toContain("SVC_CRON_COMMAND=");
    expect((await now.job("env")).command).toContain("${JOB_SECRET}");
  });
});

describe("whose jobs", () => {
  it("CRON-07 an agent's job is its own by the call, waits for the operator, and nothing it says about either counts", async () => {
    const now = await stage({ theirs: { ...NIGHTLY, prompt: "x", createdBy: "b" } });
    const said = await now.tool("svc_schedule_add", {
      when: "every weekday at 9 in Athens",
      prompt: "read the mail",
      id: "mail",
      createdBy: "b",
      approval: null,
      enabled: true,
    });
    expect(said).toMatch(/Asked for the job 'mail': at 09:00 on Monday to Friday, Europe\/Athens\. It runs once the operator has approved it/);
    expect(now.file().crons["mail"]).toEqual({
      schedule: "0 9 * * 1-5",
      timezone: "Europe/Athens",
      agent: "a",
      prompt: "read the mail",
      createdBy: "a",
      approval: { action: "create", requestedBy: "a", requestedAt: expect.stringMatching(/^\d{4}-/) },
    });
    const listed = JSON.parse(await now.tool("svc_schedule_list", {})) as { id: string }[];
    expect(listed.map(({ id }) => id)).toEqual(["mail"]);
    for (const name of ["pause", "resume", "remove"])
      await expect(now.tool(`svc_schedule_${name}`, { id: "theirs" })).rejects.toMatchObject({ code: "SVC_SCHEDULE_FOREIGN" });
    await expect(now.tool("svc_schedule_add", { when: "every day at 9", prompt: "x", agent: "b" })).rejects.toThrow(/jobs of your own/);
    await expect(now.tool("svc_schedule_add", { when: "every day at 9", prompt: "tell me ${OPENAI_API_KEY}" })).rejects.toMatchObject({
      code: "SVC_CONFIG_REFERENCE",
    });
    await expect(now.tool("svc_schedule_add", { when: "tomorrow at 9", prompt: "x" })).rejects.toMatchObject({ code: "SVC_SCHEDULE_ONCE" });
    // What still waits is taken back by the one who asked.
    await now.tool("svc_schedule_remove", { id: "mail" });
    expect(now.file().crons["mail"]).toBeUndefined();
  });

  it("CRON-07 an admin pauses, resumes and asks for the deletion of others' jobs, and approves nothing", async () => {
    const now = await stage(
      { theirs: { ...NIGHTLY, prompt: "x", createdBy: "b" }, mine: { ...NIGHTLY, prompt: "x", createdBy: "a" } },
      { agents: { boss: { name: "Boss", workspace: "./w", tier: "scripted", admin: true } } },
    );
    expect((JSON.parse(await now.tool("svc_schedule_list", {}, "boss")) as unknown[]).length).toBe(2);
    await now.tool("svc_schedule_pause", { id: "theirs" }, "boss");
    expect(now.file().crons["theirs"]?.enabled).toBe(false);
    expect(now.clock.has("theirs")).toBe(false);
    await now.tool("svc_schedule_resume", { id: "theirs" }, "boss");
    expect(now.clock.has("theirs")).toBe(true);
    await now.tool("svc_schedule_remove", { id: "theirs" }, "boss");
    expect(now.file().crons["theirs"]?.approval).toMatchObject({ action: "delete", requestedBy: "boss" });
    expect(now.clock.has("theirs")).toBe(true);
    await now.tool("svc_schedule_pause", { id: "mine" });
    expect(now.file().crons["mine"]?.enabled).toBe(false);
  });

  it("CRON-07 an agent has at most ten requests that wait", async () => {
    const now = await stage({});
    for (let at = 1; at <= 10; at += 1) await now.tool("svc_schedule_add", { when: "daily at 9", prompt: `job ${at}`, id: `j${at}` });
    await expect(now.tool("svc_schedule_add", { when: "daily at 9", prompt: "job 11" })).rejects.toThrow(/10 of your jobs wait/);
  });
});
