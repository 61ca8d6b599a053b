import type { MissedMinutes, PluginContext } from "@svc/sdk";
import { createMemoryStore } from "@svc/sdk/testing";
import { expect, it } from "vitest";
import group from "./cron-command.ts";
import { overviewOf } from "./overview.ts";
import { RunBook } from "./runs.ts";
import type { CronsSettings, JobSettings } from "./settings.ts";

it("a minute whose end is not known is shown as perhaps missed, and not at all where a run of it stands in the book", async () => {
  const job = { schedule: "* * * * *", timezone: "UTC", agent: "a", prompt: "do", enabled: true, onError: "log", timeout: 600 } as unknown as JobSettings;
  const minute = (at: string, unsure: boolean): MissedMinutes => ({ first: at, last: at, count: 1, at: 7, ...(unsure ? { unsure } : {}) });
  const [ran, unknown, missed] = [0, 1, 2].map((n) => new Date(Date.UTC(2026, 0, 1, 12, n)).toISOString()) as [string, string, string];
  const book = new RunBook(createMemoryStore(), "n1");
  await book.begin({ job: "mail", by: "schedule", kind: "agent", agent: "a", minute: ran }, () => false);
  const ctx = {
    jobs: { missed: async () => [minute(ran, true), minute(unknown, true), minute(missed, false)], next: async () => [] },
    settings: { read: async () => ({ document: {} }) },
  } as unknown as PluginContext<CronsSettings>;
  const crons = await overviewOf(ctx, { book, jobs: () => ({ mail: job }) });
  expect(crons).toMatchObject([{ missed: [{ first: unknown, unsure: true }, { first: missed }] }]);

  const said: string[] = [];
  const cli = { request: async () => ({ crons }), print: (text: string) => void said.push(text) };
  await group.commands.find(({ name }) => name === "show")?.run(["mail"], {}, cli as never);
  expect(said.join("\n")).toContain(`Missed: perhaps ${unknown}`);
  expect(said.join("\n")).toContain(`Missed: 1 from ${missed}`);
});
