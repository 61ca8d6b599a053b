import { describe, expect, it } from "vitest";
import { agentFor, means, refusalOf } from "./routing.ts";
import { checkSection } from "./settings.ts";

const anna = { id: "491701234567", number: "491701234567" };
const group = { group: "120363001@g.us", groupName: "The Big Family" };

describe("CHAN-04 routes", () => {
  const settings = {
    defaultAgent: "rest",
    routes: [
      { contact: "+49 170 1234567", group: "family", agent: "both" },
      { contact: "+49 (170) 123-4567", agent: "contact" },
      { group: "FAMILY", agent: "group" },
      { group: "120363009", agent: "by-id" },
    ],
  };

  it("the first that fits wins, a group's name in part and in any case", () => {
    expect(agentFor(settings, { sender: anna })).toBe("contact");
    expect(agentFor(settings, { sender: anna, ...group })).toBe("both");
    expect(agentFor(settings, { sender: { id: "30123", number: "30123" }, ...group })).toBe("group");
    expect(agentFor(settings, { sender: anna, group: "120363009@g.us" })).toBe("by-id");
  });

  it("without one the default agent, and without that nobody", () => {
    expect(agentFor(settings, { sender: { id: "30123", number: "30123" } })).toBe("rest");
    expect(agentFor(settings, { sender: anna, group: "120363777@g.us", groupName: "Work" })).toBe("rest");
    expect(agentFor({ routes: settings.routes }, { sender: { id: "30123", number: "30123" } })).toBeUndefined();
  });
});

describe("who may write", () => {
  it("is closed by default, and says who it was", () => {
    expect(refusalOf(anna, undefined)).toContain("491701234567");
    expect(refusalOf(anna, [])).toContain("no allowFrom list");
    expect(refusalOf(anna, ["+49 170 1234567"])).toBeUndefined();
    expect(refusalOf(anna, ["+30 123456"])).toContain("not in allowFrom");
  });

  it("a plus makes no difference, parts count from five digits on, a hidden id only as a whole", () => {
    expect([means("491701234567", anna), means("+491701234567", anna), means("0170", anna), means("1234567", anna), means("4917", anna)]).toEqual([
      true,
      true,
      false,
      true,
      false,
    ]);
    expect(means("Anna", anna)).toBe(false);
    expect(means("99887766", { id: "998877665544@lid" })).toBe(false);
    expect(means("998877665544@lid", { id: "998877665544@lid" })).toBe(true);
  });
});

it("CFG-12 routes alone do not switch the channel on, and what can never work is said", () => {
  expect(checkSection({ routes: [{ agent: "nobody" }] }, { agents: ["a"] })).toEqual([]);
  const problems = checkSection({ enabled: true, routes: [{ agent: "nobody" }] }, { agents: ["a"] });
  expect(problems.map(({ path }) => path)).toEqual(["routes[0].agent", "routes[0]", "allowFrom"]);
});
