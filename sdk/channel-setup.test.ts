import { expect, it } from "vitest";
import { chosenAgent } from "./channel-setup.ts";

const host = (given: { agent?: string }, answer?: string) => {
  const asked: object[] = [];
  const ask = async (_question: string, options: object) => {
    asked.push(options);
    return answer as never;
  };
  return { asked, given: { values: {}, ...given }, ask: ask as never };
};
const two = { node: { defaultAgent: "ben" }, agents: { anna: {}, ben: {} } };

it("the agent of the line counts, the only one is not asked for, and of several the usual one is proposed", async () => {
  expect(await chosenAgent(host({ agent: "anna" }), two)).toBe("anna");
  expect(await chosenAgent(host({}), { agents: { anna: {} } })).toBe("anna");
  const several = host({}, "anna");
  expect(await chosenAgent(several, two)).toBe("anna");
  expect(several.asked).toMatchObject([{ flag: "--agent <id>", default: "ben", choices: [{ id: "anna" }, { id: "ben" }] }]);
  const usual = host({}, "anna");
  await chosenAgent(usual, two, "anna");
  expect(usual.asked).toMatchObject([{ default: "anna" }]);
});

it("an agent that is not there is refused with those that are, and how to add one", async () => {
  await expect(chosenAgent(host({ agent: "nobody" }), two)).rejects.toMatchObject({
    code: "SVC_SETUP_AGENT",
    message: "There is no agent 'nobody'; there are anna, ben. Add one with: svc agent add <id>",
  });
  await expect(chosenAgent(host({ agent: "constructor" }), two)).rejects.toMatchObject({ code: "SVC_SETUP_AGENT" });
  await expect(chosenAgent(host({}, undefined), {})).rejects.toMatchObject({ message: expect.stringContaining("there are none") });
});
