import { expect, it } from "vitest";
import { createLog } from "../../base/log.ts";
import { closeAll } from "./closing.ts";

it("closes everything in order, also behind what fails to close, and says what that was", async () => {
  const closed: string[] = [];
  const breaks = async () => {
    throw new Error("stuck");
  };
  const steps = ["first", "second", "third"].map((name) => [name, () => (name === "second" ? breaks() : closed.push(name))] as const);
  await expect(closeAll(steps, createLog({ destination: "none", secrets: () => [] }))).rejects.toThrow("stuck");
  expect(closed).toEqual(["first", "third"]);
});
