import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Approval, Plugin } from "@svc/sdk";
import { describe, expect, it, vi } from "vitest";
import approvals from "../../plugins/features/approvals/index.ts";
import { type Stage, stage, until } from "./cron.harness.ts";

const start = (jobs: Record<string, object> | undefined, folder?: string, settings: object = {}) =>
  stage(jobs, { more: [approvals as unknown as Plugin<never>], sections: { approvals: settings }, ...(folder === undefined ? {} : { folder }) });

const openOf = async (now: Stage) => ((await now.call("GET", "/approvals")).body["approvals"] ?? []) as Approval[];
const one = (now: Stage, matches: (question: Approval) => boolean = () => true) =>
  vi.waitFor(
    async () => {
      const found = (await openOf(now)).filter(({ kind }) => kind === "job").filter(matches);
      expect(found).toHaveLength(1);
      return found[0] as Approval;
    },
    { timeout: 20_000, interval: 20 },
  );
const answer = (now: Stage, { id }: Approval, choice: "approve" | "reject") =>
  now.call("POST", `/approvals/${id}/${choice}`, { headers: { "content-type": "application/json" }, body: "{}" });
const ask = (now: Stage) => now.tool("svc_schedule_add", { when: "every weekday at 9 in Athens", prompt: "read the mail", id: "mail" });

describe("jobs that agents ask for, decided where people are asked", { timeout: 60_000 }, () => {
  it("CRON-03 an approved creation clears the field and the job runs; a rejected one takes it out", async () => {
    const now = await start({});
    await ask(now);
    const question = await one(now);
    expect(question).toMatchObject({ title: "Let the job 'mail' run by schedule?", requestedBy: "agent a", agent: "a" });
    expect(question.detail).toMatch(/0 9 \* \* 1-5 \(Europe\/Athens\), next .*09:00 and .*09:00\nAgent: a\nPrompt: read the mail/);
    expect(now.clock.has("mail")).toBe(false);
    expect((await answer(now, question, "approve")).status).toBe(200);
    await until(() => now.clock.has("mail"));
    expect(now.file().crons["mail"]).not.toHaveProperty("approval");
    await now.tool("svc_schedule_add", { when: "daily at 9", prompt: "wake everybody", id: "loud" });
    await answer(now, await one(now), "reject");
    await until(() => now.file().crons["loud"] === undefined);
    expect(Object.keys(now.file().crons)).toEqual(["mail"]);
  });

  it("CRON-03 a rejected deletion lets the job go on, an approved one takes it out", async () => {
    const job = { schedule: "0 9 * * *", agent: "a", prompt: "x", createdBy: "a" };
    const now = await start({ first: job, second: job });
    await now.tool("svc_schedule_remove", { id: "first" });
    const question = await one(now);
    expect(question.title).toBe("Delete the job 'first'?");
    await answer(now, question, "reject");
    await until(() => now.file().crons["first"]?.approval === undefined);
    expect(now.clock.has("first")).toBe(true);
    await now.tool("svc_schedule_remove", { id: "second" });
    await answer(now, await one(now), "approve");
    await until(() => now.file().crons["second"] === undefined);
    await until(() => !now.clock.has("second"));
  });

  it("CRON-04 a yes counts for the job that was shown: one that was changed meanwhile is asked about anew", async () => {
    const now = await start({});
    await ask(now);
    const shown = await one(now);
    await now.ctx().settings.change([{ path: ["crons", "mail", "prompt"], value: "send the mail to a stranger" }], { by: "a test" });
    const fresh = await one(now, ({ id }) => id !== shown.id);
    expect(fresh.detail).toContain("a stranger");
    expect((await answer(now, shown, "approve")).status).toBe(410);
    expect(now.file().crons["mail"]).toHaveProperty("approval");
    await answer(now, fresh, "approve");
    await until(() => now.clock.has("mail"));
  });

  it("CRON-03 what was decided on the command line is no question any more; one that was decided while the daemon was down counts", async () => {
    const first = await start({});
    await ask(first);
    await one(first);
    await first.stop();
    // As svc schedule approve leaves the file.
    const file = join(first.folder, "svc.json");
    const document = JSON.parse(readFileSync(file, "utf8")) as { crons: Record<string, { approval?: object }> };
    delete document.crons["mail"]?.approval;
    writeFileSync(file, JSON.stringify(document, null, 2));
    const second = await start(undefined, first.folder);
    await vi.waitFor(async () => expect(await openOf(second)).toEqual([]), { timeout: 20_000 });
    expect(second.clock.has("mail")).toBe(true);
  });

  it("AUTH-06 the question about a job shows ${NAME} as svc.json has it, not what it stands for", async () => {
    process.env["SVC_TEST_JOB_KEY"] = "canary-9f3a";
    try {
      const work = { command: `curl -H "key: ${"${SVC_TEST_JOB_KEY}"}" backup.example`, prompt: `log in with ${"${SVC_TEST_JOB_KEY}"}` };
      const job = { schedule: "0 9 * * *", agent: "a", createdBy: "a" };
      const now = await start({ backup: { ...job, command: work.command }, report: { ...job, prompt: work.prompt } });
      for (const id of ["backup", "report"]) await now.tool("svc_schedule_remove", { id });
      const about = (id: string) => one(now, ({ title }) => title.includes(`'${id}'`));
      expect((await about("backup")).detail).toContain(`Command, run as the daemon's user: ${work.command}`);
      expect((await about("report")).detail).toContain(`Prompt: ${work.prompt}`);
      expect(JSON.stringify(await openOf(now))).not.toContain("canary-9f3a");
      await answer(now, await about("backup"), "approve");
      await until(() => now.file().crons["backup"] === undefined);
    } finally {
      delete process.env["SVC_TEST_JOB_KEY"];
    }
  });

  it("CRON-03 a job that is too long to be asked about keeps no other one from people, and still waits", async () => {
    const now = await start({});
    await now.tool("svc_schedule_add", { when: "daily at 9", prompt: "x".repeat(100_001), id: "endless" });
    await ask(now);
    expect((await one(now)).title).toContain("'mail'");
    expect(now.file().crons["endless"]).toHaveProperty("approval");
    await now.ctx().settings.change([{ path: ["crons", "mail"] }], { by: "a test" });
    await vi.waitFor(async () => expect(await openOf(now)).toEqual([]), { timeout: 20_000 });
  });

  it("CRON-04 a question that nobody answers in time is a no: the job is taken out", async () => {
    const now = await start({}, undefined, { defaultExpiryDays: 0.00002 });
    await ask(now);
    await until(() => now.file().crons["mail"] === undefined);
    expect(now.clock.has("mail")).toBe(false);
  });

  it("CRON-04 a question that is taken back decides nothing: the job goes on waiting", async () => {
    const now = await start({});
    await ask(now);
    const { id } = await one(now);
    const service = now.ctx().services.get("approvals");
    expect(service).toBeDefined();
    expect(await service?.get(id)).toMatchObject({ state: "open", key: expect.stringMatching(/^job:mail:create:/) });
    expect(await service?.withdraw(id, "a test")).toBe(true);
    // Taken back is not refused: the job still waits.
    expect(now.file().crons["mail"]).toHaveProperty("approval");
    expect(now.clock.has("mail")).toBe(false);
  });
});
