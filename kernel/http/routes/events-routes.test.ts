import { describe, expect, it } from "vitest";
import { frames } from "../http.harness.ts";
import { servedKernel } from "./kernel.harness.ts";

const at = servedKernel();

describe("events", () => {
  const publish = (count: number, kind = "run", type = "created") =>
    Array.from({ length: count }, (_, index) => at.kernel.bus.publish({ kind, type, summary: `${kind} ${index}`, agentId: "echo" }).id);
  const idsOf = (body: Record<string, unknown>) => (body.events as { id: string }[]).map(({ id }) => id);

  it("EVT-03 limit keeps the newest in /events/recent, oldest first", async () => {
    const ids = publish(10);
    expect(idsOf((await at.call("/events/recent?limit=3")).body)).toEqual(ids.slice(-3));
    expect(idsOf((await at.call(`/events/recent?limit=3&since=${ids[1]}`)).body)).toEqual(ids.slice(-3));
    expect((await at.call("/events/recent?limit=0")).body).toEqual({ events: [] });
    const page = async (since: string) => (await at.call(`/events/recent?keep=oldest&limit=4&since=${since}`)).body;
    expect([idsOf(await page(ids[1] as string)), (await page(ids[1] as string)).more]).toEqual([ids.slice(2, 6), true]);
    expect([idsOf(await page(ids[5] as string)), (await page(ids[5] as string)).more]).toEqual([ids.slice(6), false]);
    expect((await at.call("/events/recent?keep=middle")).status).toBe(400);
    for (const limit of ["-1", "x", "1.5"]) expect((await at.call(`/events/recent?limit=${limit}`)).status, limit).toBe(400);
  });

  it("EVT-01 a since that left the buffer is a gap; EVT-04 filters do not hide the position", async () => {
    const [first, second] = publish(2, "signal", "emitted");
    const [third] = publish(1);
    expect((await at.call(`/events/recent?since=${first}&kind=run`)).body).toEqual({ events: [expect.objectContaining({ id: third })] });
    expect(idsOf((await at.call(`/events/recent?since=${first}&skip=created`)).body)).toEqual([second]);
    expect((await at.call("/events/recent?since=evt_0123456789_zz")).body).toMatchObject({ gap: true });
    expect((await at.call("/events/recent")).body).not.toHaveProperty("gap");
    expect(idsOf((await at.call("/events/recent?since=1&origin=local&agent=echo")).body)).toEqual([first, second, third]);
    expect((await at.call("/events/recent?since=2999-01-01T00:00:00Z")).body).toEqual({ events: [] });
  });

  it("EVT-07 plain streams start with a status at once, carry six kinds, and agent steps as task", async () => {
    const stream = frames(await fetch(`${at.server.url}/events`));
    expect((await stream.next()).value).toEqual(["status", expect.objectContaining({ node: "here" })]);
    for (const kind of ["message", "announce", "reminder", "agent", "run", "task", "signal", "mesh", "channel"])
      publish(1, kind, kind === "agent" ? "task:completed" : "x");
    publish(1, "agent", "task:step");
    publish(1, "status", "status");
    const names: string[] = [];
    for await (const [name, data] of stream) {
      names.push(name);
      expect(data).toMatchObject({ rootId: expect.any(String), node: "here" });
      if (name === "status") break;
      if (names.length === 6) expect(data).toMatchObject({ kind: "task:step" });
    }
    expect(names).toEqual(["run", "task", "signal", "mesh", "channel", "task", "status"]);
  });

  it("EVT-08 envelope streams carry every envelope and nothing else, by kind, skip, origin and agent, not by type", async () => {
    const open = async (query: string) => frames(await fetch(`${at.server.url}/events?format=envelope&${query}`));
    const all = await open("type=other");
    const some = await open("kind=run,signal&skip=created&agent=echo&origin=local");
    publish(1, "message", "message:matched");
    publish(1, "run", "created");
    publish(1, "run", "ok");
    expect((await all.next()).value).toEqual(["envelope", expect.objectContaining({ type: "message:matched", summary: "message 0" })]);
    expect((await all.next()).value).toEqual(["envelope", expect.objectContaining({ type: "created" })]);
    expect((await some.next()).value).toEqual(["envelope", expect.objectContaining({ type: "ok" })]);
    expect((await at.call("/events?format=xml")).status).toBe(400);
  });

  it("leave nothing behind when the client goes", async () => {
    const leave = new AbortController();
    const stream = frames(await fetch(`${at.server.url}/events`, { signal: leave.signal }));
    await stream.next();
    leave.abort();
    await expect(stream.next()).rejects.toThrow();
    publish(3);
    expect((await at.call("/health")).status).toBe(200);
  });
});
