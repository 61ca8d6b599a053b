import { createFakeContext } from "@svc/sdk/testing";
import { expect, it } from "vitest";
import { DeliveryLog, type DeliveryRow } from "./delivery-log.ts";
import webhooks from "./index.ts";

const DAY = 86_400_000;
const NOW = 1_800_000_000_000;
const row = (at: number, webhook = "one"): DeliveryRow => ({ at, webhook, agent: "a", source: "s", state: "accepted", delivery: `id:${at}`, bytes: 1 });

it("the log of deliveries keeps 30 days and the newest 5,000, and gives the newest of a webhook first", async () => {
  const log = new DeliveryLog(createFakeContext(webhooks as never));
  for (let day = 40; day > 0; day -= 1) log.add(row(NOW - day * DAY));
  await log.list("one", 1);
  await log.sweep(NOW);
  const kept = await log.list("one", 500);
  expect(kept.map(({ at }) => (NOW - at) / DAY)).toEqual(Array.from({ length: 30 }, (_, at) => at + 1));
  for (let at = 0; at < 5_600; at += 1) log.add(row(NOW - 6_000 + at, "two"));
  await log.list("two", 1);
  await log.sweep(NOW);
  expect(await log.list("one", 500)).toEqual([]);
  const newest = await log.list("two", 1_000);
  expect([newest[0]?.at, newest[999]?.at]).toEqual([NOW - 401, NOW - 1_400]);
  // 30 of the other one and 600 of this are gone.
  await log.sweep(NOW - 6_000 + 5_600 + 30 * DAY - 1);
  expect((await log.list("two", 1_000)).map(({ at }) => at)).toEqual([NOW - 401]);
});
