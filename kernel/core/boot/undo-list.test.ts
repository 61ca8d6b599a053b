import { expect, it } from "vitest";
import { createLog } from "../../base/log.ts";
import { UndoList } from "./undo-list.ts";

const log = createLog({ destination: "none", secrets: () => [] });

it("undoes every step, the last first, also behind one that fails, and says what that was", async () => {
  const list = new UndoList(log);
  const undone: string[] = [];
  const breaks = async () => {
    throw new Error("stuck");
  };
  for (const name of ["first", "second", "third"])
    await list.step(
      name,
      () => name,
      (made) => (made === "second" ? breaks() : undone.push(made)),
    );
  await expect(list.undo()).rejects.toThrow("stuck");
  expect(undone).toEqual(["third", "first"]);
  await list.undo();
  expect(undone).toEqual(["third", "first"]);
});

it("does not undo a step that failed", async () => {
  const list = new UndoList(log);
  const undone: string[] = [];
  await list.step(
    "first",
    () => {},
    () => undone.push("first"),
  );
  const fails = () => {
    throw new Error("no");
  };
  await expect(list.step("second", fails, () => undone.push("second"))).rejects.toThrow("no");
  await list.undo();
  expect(undone).toEqual(["first"]);
});
