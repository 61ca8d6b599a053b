import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "../house/house.ts";
import { baseOf, post, type Running, runKernel, temporaryFolder } from "../kit/kernel.ts";
import { openShell } from "../kit/svc.ts";
import { flow, type Stage, stage } from "./wf.harness.ts";

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
  const start = (value: string | undefined, more: { readonly file?: string } = {}) =>
    runKernel({
      ...more,
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

  it("CFG-09 a change of the section waits for a restart, and the gate stands as it stood", async () => {
    const file = join(await temporaryFolder(), "svc.json");
    const running = await start("true", { file });
    const document = JSON.parse(await readFile(file, "utf8"));
    await writeFile(file, JSON.stringify({ ...document, business: { ...business, projects: [], contactMap: [] } }));
    expect(await running.kernel.reload()).toMatchObject({ restartRequired: expect.arrayContaining(["business.contactMap", "business.projects"]) });
    expect(await agentOf(running, "7")).toBe("pm");
  });
});

describe("CFG-22 the ledger", () => {
  const topic = { project: "group/app", subject: "issue 12" };
  const start = (mode: string) =>
    runKernel({
      config: { business: {}, agents: Object.fromEntries(["a", "b", "c"].map((id) => [id, { name: id, workspace: "./w", tier: "scripted" }])) },
      known: [feature("ledger"), feature("business")],
      env: { INTENT_LEDGER_MODE: mode },
      listen: true,
    });
  const ask = async ({ kernel, message }: Running, agent: string, options: object = {}) => {
    const { ok, agent: ran, error } = await kernel.tasks.run(message("hello", { agent, options: { topic, ...options } }));
    return ok ? ran : (error ?? "");
  };
  const entry = async ({ kernel }: Running) => {
    const response = await fetch(`${baseOf(kernel)}/ledger?${new URLSearchParams(topic)}`);
    return ((await response.json()) as { entry?: Record<string, unknown> }).entry;
  };

  it("off keeps nothing", async () => {
    const running = await start("off");
    expect(await ask(running, "a")).toBe("a");
    expect(await entry(running)).toBeUndefined();
  });

  it("shadow changes no route: each message goes where it would go without it, and the entry says who differs", async () => {
    const running = await start("shadow");
    for (const agent of ["a", "b", "c", "b"]) expect(await ask(running, agent)).toBe(agent);
    expect(await ask(running, "c", { askedBy: "b", chain: ["b"] })).toBe("c");
    await expect.poll(() => entry(running)).toMatchObject({ agent: "a", turns: 1, other: { agent: "c", times: 4 } });
  });

  it("authoritative sends a subject to who has it, lets the holder hand on, refuses others, and hears a person's word", async () => {
    const running = await start("authoritative");
    expect(await ask(running, "a")).toBe("a");
    expect(await ask(running, "b")).toBe("a");
    expect(await ask(running, "b", { askedBy: "a", chain: ["a"] })).toBe("b");
    expect(await ask(running, "c", { askedBy: "b", chain: ["a", "b"] })).toBe("c");
    expect(await ask(running, "c", { askedBy: "b", chain: ["b"] })).toMatch(/The ledger has 'a' for 'issue 12' of 'group\/app'/);
    expect(await ask(running, "b", { topic: undefined })).toBe("b");
    expect(await entry(running)).toMatchObject({ agent: "a", turns: 2, project: "group/app", subject: "issue 12", root: expect.any(String) });
    const base = baseOf(running.kernel);
    const { version } = (await entry(running)) as { version: number };
    expect((await post(base, "/ledger/assign", { ...topic, agent: "nobody" })).status).toBe(404);
    expect((await post(base, "/ledger/assign", { ...topic, agent: "b", expect: version - 1 })).status).toBe(409);
    expect((await post(base, "/ledger/assign", { ...topic, agent: "b", expect: version })).status).toBe(200);
    expect(await ask(running, "a")).toBe("b");
    expect((await post(base, "/ledger/release", topic)).body).toMatchObject({ released: true });
    expect(await ask(running, "c")).toBe("c");
  });

  it("of two that begin at once one has the subject, and the other is refused with the holder's name", async () => {
    const running = await start("authoritative");
    const said = await Promise.all([ask(running, "a"), ask(running, "b")]);
    const holder = (await entry(running))?.["agent"];
    expect(said.filter((one) => one === holder).length).toBeGreaterThan(0);
    expect(said.every((one) => one === holder || one.includes(`The ledger has '${holder}'`))).toBe(true);
  });
});

describe("WF-09 tasks of roles", () => {
  const ask = (role: string) => flow([{ id: "ask", kind: "approval", title: "Go on?", assignee: `role:${role}` }], "start > ask");
  const flows = { lead: ask("lead"), legal: ask("legal"), proto: ask("__proto__") };
  const listed = async (on: Stage, actor: string) => {
    const { body } = await on.page("GET", `/api/workflows/tasks?${new URLSearchParams({ actor })}`);
    return (body["tasks"] as { assignee: string }[]).map(({ assignee }) => assignee).sort();
  };

  it("are of everybody to whom the chart gives the role, of several roles all, and of nobody by a name that looks like one", async () => {
    const orgChart = { ann: { role: ["lead", "legal"] }, bob: { role: "lead", reportsTo: "ann" }, lead: {}, cleo: { reportsTo: "ann" } };
    const on = await stage(flows, { sections: { business: { orgChart } } });
    for (const id of Object.keys(flows)) await on.untilWaits(await on.start(id), "ask", "task");
    const table = { ann: ["role:lead", "role:legal"], bob: ["role:lead"], lead: [], cleo: [], nobody: [], __proto__x: [], constructor: [] };
    for (const [actor, tasks] of Object.entries(table)) expect([actor, await listed(on, actor)]).toEqual([actor, tasks]);
    expect(await listed(on, "__proto__")).toEqual([]);
  });

  it("are nobody's without the section, and follow the chart after a restart", async () => {
    const first = await stage(flows);
    await first.untilWaits(await first.start("legal"), "ask", "task");
    expect(await listed(first, "ann")).toEqual([]);
    await first.stop();
    const second = await stage(flows, { folder: first.folder, sections: { business: { orgChart: { ann: { role: "legal" } } } } });
    expect(await listed(second, "ann")).toEqual(["role:legal"]);
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
