import type { HttpRoute } from "@svc/sdk";
import { createFakeContext } from "@svc/sdk/testing";
import { expect, it } from "vitest";
import crons from "./index.ts";

const job = { enabled: true, schedule: "0 9 * * *", timezone: "UTC", agent: "a", prompt: "hello", timeout: 600, onError: "log", fireToken: "the-right-token" };

it("CRON-09 ten wrong tokens a minute from one address, and it is not listened to any more; others and this machine are", async () => {
  const ctx = createFakeContext(crons as never, { config: { nightly: job } as never, agents: [{ id: "a" }] });
  crons.setup(ctx as never);
  const { before } = ctx.registered.routes.find(({ path }) => path === "/crons/:id/fire") as HttpRoute;
  const fire = async (token: string, address: string, local = false) => {
    const request = { params: { id: "nightly" }, headers: { authorization: `Bearer ${token}` }, caller: { address, local } };
    try {
      await before?.(request as never);
      return 202;
    } catch (error) {
      return (error as { status: number }).status;
    }
  };
  for (let guess = 1; guess <= 10; guess += 1) expect(await fire(`guess-${guess}`, "203.0.113.7")).toBe(401);
  expect(await fire("the-right-token", "203.0.113.7")).toBe(429);
  expect(await fire("the-right-token", "203.0.113.8")).toBe(202);
  for (let guess = 1; guess <= 20; guess += 1) expect(await fire("guess", "127.0.0.1", true)).toBe(401);
});

it("CRON-09 a job is one of svc.json: what every object has under a name, such as constructor, is none and starts nothing", async () => {
  const ctx = createFakeContext(crons as never, { config: { nightly: job } as never, agents: [{ id: "a" }] });
  crons.setup(ctx as never);
  const runs = ctx.registered.routes.filter(({ path }) => path.endsWith("/:id/run"));
  expect(runs).toHaveLength(2);
  for (const { handle } of runs)
    for (const id of ["constructor", "toString"])
      await expect(handle({ params: { id } } as never, { status: () => {} } as never)).rejects.toMatchObject({ code: "SVC_CRON_UNKNOWN", status: 404 });
  expect(ctx.tasks.accepted).toEqual([]);
});
