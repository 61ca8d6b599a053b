import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "../house/house.ts";
import { type Running, runKernel, temporaryFolder } from "../kit/kernel.ts";
import { openShell } from "../kit/svc.ts";

const feature = (name: string) => join(ROOT, "plugins/features", name);

describe("CFG-22 the gate of project managers", () => {
  const business = {
    orgChart: { lead: { role: "lead" }, pm: { role: "manager", reportsTo: "lead" } },
    projects: [{ id: "shop", pm: "pm", client: "Acme" }, { id: "led", pm: "lead" }, { id: "free" }],
    contactMap: [
      { channel: "chat", senderId: "7", project: "shop" },
      { channel: "chat", senderId: "8", project: "led" },
      { channel: "chat", senderId: "9", project: "free" },
      { channel: "chat", senderId: "10", client: "Acme" },
    ],
  };
  const start = (value: string | undefined) =>
    runKernel({
      config: { business, agents: { a: { name: "A", workspace: "./w", tier: "scripted" }, pm: { name: "PM", workspace: "./w", tier: "scripted" } } },
      known: [feature("business")],
      env: value === undefined ? {} : { INTENT_PM_GATE_ENABLED: value },
    });
  const agentOf = async ({ kernel, message }: Running, sender: string, extra = {}) => {
    const result = await kernel.tasks.run(message("hello", { entry: "channel", channel: "chat", sender: { id: sender }, ...extra }));
    return result.ok ? result.agent : (result.error ?? "");
  };

  it.each([
    ["true", true],
    ["TRUE", false],
    ["True", false],
    ["1", false],
    ["yes", false],
    ["on", false],
    [" true", false],
    ["", false],
    ["false", false],
    [undefined, false],
  ])("is on for exactly 'true': %j", async (value, on) => {
    const running = await start(value);
    expect(await agentOf(running, "7")).toBe(on ? "pm" : "a");
    expect(await agentOf(running, "404")).toBe("a");
    expect(await agentOf(running, "10")).toBe("a");
  });

  it("drops with a reason what has no manager or one that is no agent, and leaves alone what an agent asks", async () => {
    const running = await start("true");
    expect(await agentOf(running, "8")).toMatch(/dropped: the manager of the project 'led', 'lead', is no agent here/);
    expect(await agentOf(running, "9")).toMatch(/dropped: the project 'free' has no manager/);
    expect(await agentOf(running, "7", { options: { askedBy: "pm" } })).toBe("a");
    expect(running.tier.prompts).toHaveLength(1);
  });

  it("a change of the section waits for a restart", async () => {
    const file = join(await temporaryFolder(), "svc.json");
    const running = await runKernel({ file, config: { business }, known: [feature("business")], env: {} });
    const document = JSON.parse(await readFile(file, "utf8"));
    await writeFile(file, JSON.stringify({ ...document, business: { ...business, projects: [], contactMap: [] } }));
    expect(await running.kernel.reload()).toMatchObject({ restartRequired: expect.arrayContaining(["business.contactMap", "business.projects"]) });
  });
});

describe("svc business", () => {
  it("answers --help, refuses an unknown subcommand, has --json, and refuses a circle in plain words", async () => {
    const shell = await openShell();
    const document = { node: { id: "n", name: "N" }, agents: {}, business: { orgChart: { a: { reportsTo: "b" }, b: { role: "r" } } } };
    shell.write(document);
    expect(await shell.json("business", "show", "a")).toMatchObject({ person: { id: "a" }, superiors: ["b"] });
    expect((await shell.svc("business", "--help")).out).toContain("whois");
    expect(await shell.svc("business", "nonsense")).toMatchObject({ code: 2 });
    shell.write({ ...document, business: { orgChart: { a: { reportsTo: "b" }, b: { reportsTo: "c" }, c: { reportsTo: "a" } } } });
    const checked = await shell.svc("config", "check");
    expect(checked.code).not.toBe(0);
    expect(checked.out + checked.err).toContain("orgChart.a.reportsTo: leads in a circle: a > b > c > a");
  });
});
