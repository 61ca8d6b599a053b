import { afterEach, describe, expect, it } from "vitest";
import { lacking } from "../kit/phonemsg/library.ts";
import { type Stage, setStage, until } from "./phonemsg.harness.ts";

const stages: Stage[] = [];
async function stage(options?: Parameters<typeof setStage>[0]): Promise<Stage> {
  const made = await setStage(options);
  stages.push(made);
  return made;
}
afterEach(async () => {
  for (const one of stages.splice(0)) await one.stop();
});

describe.skipIf(lacking)("pairing", () => {
  it("by a picture: 515 is no failure, the number is linked and heard", async () => {
    const one = await stage();
    await one.start();
    await one.far.say({ from: one.friend, text: "hello" });
    await until(() => one.context.tasks.accepted.length === 1);
    expect(one.context.tasks.accepted[0]).toMatchObject({ text: "hello", chat: one.friend.number, direct: true, agent: "anna" });
    expect(one.far.refused).toEqual([]);
  });
});
