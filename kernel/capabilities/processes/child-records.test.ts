import { put } from "@svc/sdk";
import { expect, it } from "vitest";
import { openStore } from "../../../test/kit/store.ts";
import { createLog } from "../../base/log.ts";
import { stateStore } from "../../base/state-store.ts";
import { openChildRecords } from "./child-records.ts";

const silent = createLog({ destination: "none", secrets: () => [] });

it("FAULT-05 gives out once what an earlier daemon of the folder recorded, and leaves alone what daemons of other folders did", async () => {
  const store = stateStore(openStore({ file: ":memory:", log: silent })).scope("core");
  await (await openChildRecords(store, "folder-a")).record("task_1", 11, "one");
  await (await openChildRecords(store, "folder-b")).record("task_2", 22, "two");
  const again = await openChildRecords(store, "folder-a");
  expect(again.earlier.map(({ pid }) => pid)).toEqual([11]);
  expect((await openChildRecords(store, "folder-a")).earlier).toEqual([]);
  expect((await openChildRecords(store, "folder-b")).earlier.map(({ pid }) => pid)).toEqual([22]);
});

it("what was recorded before it was told whose it is, is given out once", async () => {
  const store = stateStore(openStore({ file: ":memory:", log: silent })).scope("core");
  await store.commit([put("children", "slot-7", { taskId: "task_1", pid: 33, identity: "three" })]);
  expect((await openChildRecords(store, "folder-a")).earlier.map(({ pid }) => pid)).toEqual([33]);
  expect((await openChildRecords(store, "folder-a")).earlier).toEqual([]);
});
