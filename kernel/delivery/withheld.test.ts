import type { Delivery } from "@svc/sdk";
import { afterEach, expect, it } from "vitest";
import { createFarEnd, openWorld, until, type World } from "./deliver.harness.ts";

const worlds: World[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

async function world(...given: Parameters<typeof openWorld>): Promise<World> {
  const made = await openWorld(...given);
  worlds.push(made);
  return made;
}

const HOUR = 3_600_000;
const proactive = (text: string, extra: Partial<Delivery> = {}) => ({ kind: "proactive" as const, target: { channel: "acme", chat: "c1" }, text, ...extra });
const withholding = (delivery: Delivery): Delivery => (delivery.text.startsWith("hold") ? { ...delivery, held: "needs a look" } : delivery);

it("a delivery that a tap withholds is kept with its text and its bytes, listed, and told to the bus without its text", async () => {
  const far = createFarEnd();
  const one = await world(far);
  one.tap(withholding);
  const media = [{ kind: "file" as const, name: "a.bin", data: new Uint8Array([1, 2, 3]) }];
  const { id, sent } = await one.deliveries.send(proactive("hold this", { agent: "a", media }));
  await expect(sent).rejects.toMatchObject({ code: "SVC_DELIVERY_HELD" });
  const [kept] = await one.deliveries.withheld.list();
  expect(kept).toMatchObject({ reason: "needs a look", delivery: { id, text: "hold this", agent: "a", target: { chat: "c1" } } });
  expect(kept?.delivery.media?.[0]?.data).toEqual(Buffer.from([1, 2, 3]));
  expect(kept?.delivery).not.toHaveProperty("held");
  expect(one.events).toMatchObject([{ type: "delivery:withheld", data: { channel: "acme", delivery: id, reason: "needs a look" } }]);
  expect(JSON.stringify(one.events)).not.toContain("hold this");
  expect(far.calls).toEqual([]);
});

it("release sends it once, behind what its conversation is still to be sent, and a second decision finds nothing", async () => {
  const far = createFarEnd();
  const one = await world(far, { connected: false });
  one.tap(withholding);
  const { id } = await one.deliveries.send(proactive("hold one"));
  for (const text of ["two", "three"]) await one.deliveries.send(proactive(text));
  const decisions = await Promise.all([one.deliveries.withheld.release(id), one.deliveries.withheld.release(id), one.deliveries.withheld.refuse(id, "no")]);
  expect(decisions.filter(Boolean)).toHaveLength(1);
  await one.deliveries.send(proactive("four"));
  one.connect();
  const wanted = decisions[2] ? ["two", "three", "four"] : ["two", "three", "hold one", "four"];
  await until(() => far.visible("c1").length === wanted.length);
  expect(far.visible("c1")).toEqual(wanted);
  expect(await one.deliveries.withheld.release(id)).toBe(false);
  expect(await one.deliveries.withheld.list()).toEqual([]);
  expect(one.events.filter(({ type }) => type === "delivery:released" || type === "delivery:refused")).toHaveLength(1);
});

it("refuse drops it for good and says why", async () => {
  const far = createFarEnd();
  const one = await world(far);
  one.tap(withholding);
  const { id } = await one.deliveries.send(proactive("hold"));
  expect(await one.deliveries.withheld.refuse(id, "not like this")).toBe(true);
  expect(one.events.at(-1)).toMatchObject({ type: "delivery:refused", data: { delivery: id, reason: "not like this" } });
  expect(await one.deliveries.withheld.refuse(id, "again")).toBe(false);
  expect(far.calls).toEqual([]);
});

it("it outlives a crash, as a decision about it does", async () => {
  const far = createFarEnd();
  const one = await world(far);
  one.tap(withholding);
  const { id } = await one.deliveries.send(proactive("hold on"));
  const gone = (await one.deliveries.send(proactive("hold off"))).id;
  await one.deliveries.withheld.refuse(gone, "no");
  const two = await one.crash();
  worlds.push(two);
  expect((await two.deliveries.withheld.list()).map(({ delivery }) => delivery.text)).toEqual(["hold on"]);
  expect(await two.deliveries.withheld.release(id)).toBe(true);
  await until(() => far.visible("c1").length === 1);
  expect(far.visible("c1")).toEqual(["hold on"]);
  const three = await two.crash();
  worlds.push(three);
  expect(await three.deliveries.withheld.list()).toEqual([]);
});

it("what nobody decides about expires by age, is reported once, and the sender of an answer is told", async () => {
  const far = createFarEnd();
  const one = await world(far, { limits: { withheldHours: 2 } });
  one.tap(withholding);
  await one.store
    .scope("core")
    .commit(one.deliveries.ops({ id: "out_1", kind: "reply", target: { channel: "acme", chat: "c1" }, text: "hold it", held: "look" }));
  await one.deliveries.send(proactive("hold too"));
  one.clock.offset += 2 * HOUR + 1;
  // As a daemon that was away meanwhile finds it.
  const two = await one.crash();
  worlds.push(two);
  await until(() => far.visible("c1").length === 1);
  expect(far.visible("c1")[0]).toMatch(/held back for a decision that did not come within 2 hours/);
  expect(await two.deliveries.withheld.list()).toEqual([]);
  expect(two.events.filter(({ data }) => data?.withheld === true)).toMatchObject([{ data: { state: "delivery-expired", count: 2 } }]);
  expect(two.failed.map(({ deliveries }) => deliveries.map(({ text }) => text).sort())).toEqual([["hold it", "hold too"]]);
});

it("a release waits for a channel that is away, and its age counts anew in the outbox", async () => {
  const far = createFarEnd();
  const one = await world(far, { limits: { ttlMinutes: 1 } });
  one.tap(withholding);
  const { id } = await one.deliveries.send(proactive("hold late"));
  one.clock.offset += 2 * HOUR;
  expect(await one.deliveries.withheld.release(id)).toBe(true);
  await until(() => far.visible("c1").length === 1);
  expect(far.visible("c1")).toEqual(["hold late"]);
});

it("more withheld deliveries than the outbox takes are refused to plugins", async () => {
  const one = await world(createFarEnd(), { limits: { maxQueued: 2 } });
  one.tap(withholding);
  for (const text of ["hold 1", "hold 2"]) await one.deliveries.send(proactive(text));
  await expect(one.deliveries.send(proactive("hold 3"))).rejects.toMatchObject({ code: "SVC_OUTBOX_FULL" });
  expect(await one.deliveries.withheld.list()).toHaveLength(2);
});

it("the asker of an answer that is refused is told so, without the reason; of what nobody asked for nobody hears", async () => {
  const far = createFarEnd();
  const one = await world(far, { connected: false });
  one.tap(withholding);
  const answer: Delivery = { id: "out_1", kind: "reply", target: { channel: "acme", chat: "c1" }, text: "hold it", held: "look" };
  await one.store.scope("core").commit(one.deliveries.ops(answer));
  const { id } = await one.deliveries.send(proactive("hold too", { target: { channel: "acme", chat: "c2" } }));
  const decided = await Promise.all([one.deliveries.withheld.refuse("out_1", "a secret"), one.deliveries.withheld.refuse("out_1", "a secret")]);
  expect(decided.filter(Boolean)).toHaveLength(1);
  await one.deliveries.withheld.refuse(id, "no");
  // In the commit of the decision: a crash right after it costs nothing.
  const two = await one.crash();
  worlds.push(two);
  two.connect();
  await until(() => far.visible("c1").length === 1);
  expect([far.visible("c1"), far.visible("c2")]).toEqual([["My answer was held back, and it was decided not to send it."], []]);
});
