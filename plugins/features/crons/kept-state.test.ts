import type { Lifecycle } from "@svc/sdk";
import { createFakeContext } from "@svc/sdk/testing";
import { expect, it } from "vitest";
import crons from "./index.ts";
import { RunBook } from "./runs.ts";
import type { CronsSettings } from "./settings.ts";

it("the state of a job that is gone is forgotten within hours, by a daemon that never lives for a day, too", async () => {
  const ctx = createFakeContext(crons as never, { config: {} as never });
  const lifecycle = crons.setup(ctx as never) as Lifecycle<CronsSettings>;
  await lifecycle.start?.();
  await new RunBook(ctx.store, "n1").turnedOn("gone");
  const streaks = ctx.store.collection("streaks");
  expect(await streaks.get("gone")).toBeDefined();
  for (const job of ctx.registered.jobs) if (job.kind === "every" && job.ms !== undefined && job.ms <= 3_600_000) await job.run(new Date());
  expect(await streaks.get("gone")).toBeUndefined();
});
