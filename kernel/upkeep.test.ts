import { expect, it } from "vitest";
import { claimMinute } from "./job-book.ts";
import { createLog } from "./log.ts";
import { openStore } from "./store/index.ts";
import { forgetOld } from "./upkeep.ts";

it("claims of minutes are forgotten when they are old", async () => {
  const store = openStore({ file: ":memory:", log: createLog({ destination: "none", secrets: () => [] }) }).scope("core");
  for (let hour = 10; hour < 20; hour += 1) await claimMinute(store, "a", `2026-01-01T${hour}:00`, hour);
  await forgetOld(store, 15);
  expect(await store.collection("minutes").count()).toBe(5);
});
