import { expect, it } from "vitest";
import { paced } from "./paced.ts";

const turn = () => new Promise((resolve) => setTimeout(resolve, 5));

it("runs once for calls in a row, once more for those that come while it runs, and never twice at once", async () => {
  let running = 0;
  let most = 0;
  let runs = 0;
  let release = () => {};
  const soon = paced(async () => {
    runs += 1;
    running += 1;
    most = Math.max(most, running);
    await new Promise<void>((resolve) => (release = resolve));
    running -= 1;
  }, 1);
  soon();
  soon();
  await expect.poll(() => runs).toBe(1);
  soon();
  soon();
  await turn();
  expect(runs).toBe(1);
  release();
  await expect.poll(() => runs).toBe(2);
  release();
  await turn();
  expect([runs, most, running]).toEqual([2, 1, 0]);
  soon();
  await expect.poll(() => runs).toBe(3);
  release();
});
