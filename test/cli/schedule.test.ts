import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { sharedLines } from "../kit/lines.ts";
import { echoConfig, openShell, type Shell } from "../kit/svc.ts";

/** The commands of many lines, in one process. */
const lines = sharedLines();
let shell: Shell;
afterEach(() => shell.end());

const text = () => readFileSync(join(shell.folder, "svc.json"), "utf8");
const jobs = () => (JSON.parse(text()) as { crons?: Record<string, Record<string, unknown>> }).crons ?? {};

describe("svc schedule without a daemon", { timeout: 60_000 }, () => {
  it("CLI-02 parse says what a phrase means and writes nothing", async () => {
    shell = await openShell();
    shell.write(echoConfig());
    const before = [text(), readdirSync(shell.folder)];
    const parsed = await shell.json<{ expression: string; timezone: string; next: string[] }>("schedule", "parse", "every weekday at 9 in Athens");
    expect(parsed).toMatchObject({ expression: "0 9 * * 1-5", timezone: "Europe/Athens", words: "at 09:00 on Monday to Friday, Europe/Athens" });
    expect(parsed.next).toHaveLength(5);
    for (const time of parsed.next) expect(new Date(time).toLocaleTimeString("en-GB", { timeZone: "Europe/Athens" })).toBe("09:00:00");
    expect((await lines(shell).svc("schedule", "parse", "every", "15", "minutes")).out).toMatch(
      /^\*\/15 \* \* \* \* {2}\(UTC\)\nevery 15 minutes, UTC\n( {2}\w{3}, .*\n){5}$/,
    );
    expect(await lines(shell).svc("schedule", "parse", "tomorrow at 9")).toMatchObject({ code: 2, err: expect.stringContaining("comes once") });
    expect(await lines(shell).svc("schedule", "parse", "every second monday at 9")).toMatchObject({ code: 2, err: expect.stringContaining("may mean") });
    expect([text(), readdirSync(shell.folder)]).toEqual(before);
  });

  it("CRON-03 rejected creations go, rejected deletions leave the job; approved ones the other way; all by words", async () => {
    shell = await openShell();
    const pending = (action: string) => ({ action, requestedBy: "echo", requestedAt: "2026-11-22T10:00:00Z" });
    const job = (more: object) => ({ schedule: "0 9 * * *", agent: "echo", prompt: "say ${WORD}", createdBy: "echo", ...more });
    shell.write(
      echoConfig(
        {},
        {
          crons: {
            c1: job({ approval: pending("create") }),
            c2: job({ approval: pending("create") }),
            d1: job({ approval: pending("delete") }),
            d2: job({ approval: pending("delete") }),
          },
        },
      ),
    );
    expect((await lines(shell).svc("schedule", "list")).out).toMatch(/c1 .*create waits for approval, asked by echo/);
    expect(await lines(shell).svc("schedule", "approve", "c1")).toMatchObject({
      code: 0,
      out: expect.stringContaining("is approved and runs by its schedule"),
    });
    expect(await lines(shell).svc("schedule", "reject", "c2")).toMatchObject({ code: 0, out: expect.stringContaining("rejected and removed") });
    expect(await lines(shell).svc("schedule", "approve", "d1")).toMatchObject({ code: 0 });
    expect(await lines(shell).svc("schedule", "reject", "d2")).toMatchObject({ code: 0, out: expect.stringContaining("goes on") });
    expect(jobs()).toEqual({ c1: job({}), d2: job({}) });
    expect(await lines(shell).svc("schedule", "reject", "d2")).toMatchObject({ code: 1, err: expect.stringContaining("Nothing about the job 'd2' waits") });
    expect(await lines(shell).svc("schedule", "approve", "d2")).toMatchObject({ code: 0, out: expect.stringContaining("in force as it is") });
    expect(await lines(shell).svc("schedule", "approve", "nowhere")).toMatchObject({ code: 1, err: expect.stringContaining("There is no job 'nowhere'") });
  });

  it("CRON-07 approval stays with the operator: a shell inside an agent's task is not theirs", async () => {
    shell = await openShell();
    const { svc } = lines(shell, { SVC_TASK_ID: "task_of_an_agent" });
    shell.write(
      echoConfig(
        {},
        { crons: { c1: { schedule: "0 9 * * *", agent: "echo", prompt: "x", approval: { action: "create", requestedBy: "echo", requestedAt: "now" } } } },
      ),
    );
    const before = text();
    for (const words of [["approve", "c1"], ["reject", "c1"], ["on", "c1"], ["off", "c1"], ["remove", "c1"], ["every day at 9: hello"]])
      expect(await svc("schedule", ...words)).toMatchObject({ code: 1, err: expect.stringContaining("operator's command") });
    expect(text()).toBe(before);
  });

  it("adds, turns off and on, and removes, with the rest of the file as it was", async () => {
    shell = await openShell();
    const own = `{\n    "node": { "id": "test", "name": "Test", "bind": "127.0.0.1:0", "defaultAgent": "echo" },\n  "agents": { "echo": { "name": "Echo", "workspace": "./w", "tier": "local", "local": { "mode": "echo" } } }\n}\n`;
    writeFileSync(join(shell.folder, "svc.json"), own);
    const added = await lines(shell).svc(
      "schedule",
      "every weekday at 9:30 in Athens: read the mail, please",
      "--notify",
      "topicpush:me",
      "--on-error",
      "notify,disable",
    );
    expect(added).toMatchObject({
      code: 0,
      out: expect.stringMatching(/'read-the-mail-please' runs at 09:30 on Monday to Friday, Europe\/Athens, by agent echo\. First: .*09:30/),
    });
    expect(jobs()).toEqual({
      "read-the-mail-please": {
        schedule: "30 9 * * 1-5",
        timezone: "Europe/Athens",
        agent: "echo",
        prompt: "read the mail, please",
        onError: ["notify", "disable"],
        notify: { channel: "topicpush", chatId: "me" },
        sendAnswer: true,
      },
    });
    expect(text().startsWith(own.slice(0, -4))).toBe(true);
    expect(await lines(shell).svc("schedule", "every day at 9")).toMatchObject({ code: 2, err: expect.stringContaining("Say what to do") });
    expect(await lines(shell).svc("schedule", "every day at 9: x", "--id", "read-the-mail-please")).toMatchObject({
      code: 2,
      err: expect.stringContaining("already"),
    });
    expect(await lines(shell).svc("schedule", "every day at 9: x", "--autonomy", "all")).toMatchObject({ code: 2 });
    expect(await lines(shell).svc("schedule", "every day at 9", "--command", "true", "--autonomy", "report")).toMatchObject({
      code: 78,
      err: expect.stringContaining("not for command jobs"),
    });
    await lines(shell).svc("schedule", "off", "read-the-mail-please");
    expect(jobs()["read-the-mail-please"]).toMatchObject({ enabled: false });
    await lines(shell).svc("schedule", "on", "read-the-mail-please");
    expect(jobs()["read-the-mail-please"]).toMatchObject({ enabled: true });
    await lines(shell).svc("schedule", "remove", "read-the-mail-please");
    expect(jobs()).toEqual({});
    expect(await lines(shell).svc("cron", "list")).toMatchObject({ code: 69, err: expect.stringContaining("svc daemon start") });
    expect(await lines(shell).svc("schedule", "lsit")).toMatchObject({ code: 2, err: expect.stringContaining("'lsit' is not understood") });
  });
});

describe("svc schedule and svc cron with a daemon", { timeout: 120_000 }, () => {
  it("a job is in force at once, runs by hand, shows what it did, and goes", async () => {
    shell = await openShell();
    shell.write(echoConfig());
    expect((await shell.svc("daemon", "start")).code).toBe(0);
    expect(await lines(shell).svc("schedule", "every day at 9 in Athens: say hello", "--id", "hello")).toMatchObject({
      code: 0,
      out: expect.stringContaining("In force now."),
    });
    expect(await lines(shell).svc("schedule", "every hour", "--command", "echo broken; exit 4", "--id", "bad", "--on-error", "disable")).toMatchObject({
      code: 0,
    });
    expect((await lines(shell).svc("cron", "list")).out).toMatch(
      /^hello {2}0 9 \* \* \* Europe\/Athens {2}agent echo {2}on {2}next \S+Z\nbad {2}0 \* \* \* \* UTC {2}command {2}on/,
    );
    const ran = async (id: string, status: string, runs: number) => {
      expect((await lines(shell).svc("cron", "run", id)).code).toBe(0);
      await vi.waitFor(
        async () => {
          const found = await lines(shell).json<{ status: string }[]>("cron", "runs", id);
          expect(found.map((run) => run.status)).toEqual(Array.from({ length: runs }, () => status));
        },
        { timeout: 20_000, interval: 100 },
      );
    };
    await ran("hello", "ok", 1);
    for (const runs of [1, 2, 3]) await ran("bad", "failed", runs);
    await vi.waitFor(() => expect(jobs()["bad"]).toMatchObject({ enabled: false }), { timeout: 20_000 });
    // The file is written a moment before it is in force.
    const shown = async () => (await lines(shell).svc("cron", "show", "bad")).out;
    await expect.poll(shown).toMatch(/off after three failures[\s\S]*Command: echo broken; exit 4[\s\S]*exit status 4/);
    expect(await lines(shell).svc("cron", "show", "nowhere")).toMatchObject({ code: 1, err: expect.stringContaining("There is no job 'nowhere'") });
    expect(await lines(shell).svc("cron", "run", "nowhere")).toMatchObject({ code: 1, err: expect.stringContaining("There is no job 'nowhere'") });
    await lines(shell).svc("schedule", "remove", "bad");
    expect((await lines(shell).json<{ id: string }[]>("cron", "list")).map(({ id }) => id)).toEqual(["hello"]);
  });

  it("what an agent asked for, approved on the command line, ends in a delivery on topicpush", async () => {
    const heard: string[] = [];
    const server = createServer((request, response) => {
      request.setEncoding("utf8");
      let body = "";
      request.on("data", (chunk: string) => {
        body += chunk;
      });
      request.on("end", () => {
        heard.push(body);
        response.setHeader("content-type", "application/json").end('{"id":"m1"}');
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      shell = await openShell();
      const { port } = server.address() as AddressInfo;
      const approval = { action: "create", requestedBy: "echo", requestedAt: "2026-11-22T10:00:00.000Z" };
      const notify = { channel: "topicpush", chatId: "me" };
      const mail = { schedule: "0 9 * * 1-5", agent: "echo", prompt: "three letters wait", sendAnswer: true, notify, createdBy: "echo", approval };
      shell.write(
        echoConfig({}, { channels: { topicpush: { enabled: true, server: `http://127.0.0.1:${port}`, topic: "a-topic-of-the-test" } }, crons: { mail } }),
      );
      await shell.svc("daemon", "start");
      expect(await lines(shell).svc("cron", "run", "mail")).toMatchObject({ code: 1, err: expect.stringContaining("svc schedule approve mail") });
      expect(await lines(shell).svc("schedule", "approve", "mail")).toMatchObject({ code: 0, out: expect.stringContaining("In force now.") });
      expect((await lines(shell).svc("cron", "run", "mail")).code).toBe(0);
      await vi.waitFor(() => expect(heard.some((body) => body.includes("three letters wait"))).toBe(true), { timeout: 30_000, interval: 50 });
    } finally {
      server.close();
    }
  });
});
