import type { Delivery } from "@svc/sdk";
import { afterEach, expect, it, vi } from "vitest";
import { createFarEnd, openWorld, until, type World } from "./deliver.harness.ts";

/** What the store brings to the disk: how often, and when it may. */
const disk = vi.hoisted(() => ({ syncs: 0, held: undefined as (() => void)[] | undefined }));
vi.mock("node:fs", async (original) => {
  const fs = await original<typeof import("node:fs")>();
  const fdatasync = (handle: number, done: (error: NodeJS.ErrnoException | null) => void) => {
    disk.syncs += 1;
    const run = () => fs.fdatasync(handle, done);
    if (disk.held === undefined) run();
    else disk.held.push(run);
  };
  return { ...fs, fdatasync };
});

let one: World;
afterEach(async () => {
  for (const run of disk.held?.splice(0) ?? []) run();
  disk.held = undefined;
  await one.close();
});

const reply = (id: string): Delivery => ({ id, kind: "reply", taskId: `task_${id}`, target: { channel: "acme", chat: "c1" }, text: `answer ${id}` });

/** As the end of a task does it. */
async function answer(delivery: Delivery): Promise<void> {
  const ops = one.deliveries.ops(delivery);
  await one.store.scope("core").commit(ops);
  one.deliveries.committed(delivery);
}
const empty = async () => (await one.store.scope("core").queue("outbox/acme").size()) === 0;

it("an answer waits for the disk once on its way to the platform: it is claimed in the commit that stores it", async () => {
  const far = createFarEnd();
  one = await openWorld(far);
  await answer(reply("1"));
  await until(empty);
  let syncs = 0;
  far.fault = () => void (syncs = disk.syncs);
  for (const id of ["2", "3", "4"]) {
    const before = disk.syncs;
    await answer(reply(id));
    await until(empty);
    expect([id, syncs - before]).toEqual([id, 1]);
  }
  expect(far.calls.map(({ text }) => text)).toEqual(["answer 1", "answer 2", "answer 3", "answer 4"]);
});

it("FAULT-03 an answer is on the disk before it is sent, and a process that is killed in between sends it once", async () => {
  const far = createFarEnd();
  one = await openWorld(far);
  await answer(reply("1"));
  await until(empty);
  disk.held = [];
  const stored = answer(reply("2"));
  await until(() => disk.held?.length === 1);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(far.calls).toHaveLength(1);
  const [run] = disk.held.splice(0);
  disk.held = undefined;
  run?.();
  await stored;
  await until(() => far.calls.length === 2);
  await until(empty);
  expect(far.visible("c1")).toEqual(["answer 1", "answer 2"]);
});

it("a commit that fails is followed by no send", async () => {
  const far = createFarEnd();
  one = await openWorld(far);
  const ops = one.deliveries.ops(reply("1"));
  const conflict = { op: "set", collection: "taken", key: "k", value: 1, expect: "absent" } as never;
  await one.store.scope("core").commit([conflict]);
  await expect(one.store.scope("core").commit([...ops, conflict])).rejects.toMatchObject({ code: "SVC_STORE_CONFLICT" });
  await answer(reply("2"));
  await until(empty);
  expect(far.visible("c1")).toEqual(["answer 2"]);
});
