import { type Inbound, type Message, routeTo, type Turn } from "@svc/sdk";
import { createFakeCli, createFakeContext, serviceContract } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import command from "./business-command.ts";
import { businessLayer } from "./context-layer.ts";
import { isGateOn, judge } from "./gate.ts";
import business from "./index.ts";
import { createPeople } from "./people.ts";
import { type BusinessSettings, checkBusiness } from "./settings.ts";

const SECTION: BusinessSettings = {
  orgChart: {
    ann: { role: "lead", workingWindow: { start: "09:00", end: "17:00" } },
    ada: { role: ["project manager", "support"], reportsTo: "ann" },
    ben: { reportsTo: "ada" },
  },
  projects: [{ id: "shop", pm: "ada", client: "Acme" }, { id: "orphan" }, { id: "human", pm: "ann" }],
  contactMap: [
    { channel: "chat", chatId: "room", displayName: "The room" },
    { channel: "chat", senderId: "7", project: "shop", displayName: "Cleo" },
    { channel: "chat", senderId: "7", chatId: "room", client: "Other" },
    { channel: "chat", username: "@Dan", project: "orphan" },
    { channel: "chat", senderId: "9", project: "human" },
  ],
};
const check = (section: BusinessSettings, agents = ["ada"]) =>
  checkBusiness(section, { agents }).map(({ path, message, severity = "warning" }) => `${severity} ${path} ${message}`);
const message = (extra: Partial<Message> = {}): Inbound =>
  ({ entry: "channel", channel: "chat", chat: "c", text: "hello", id: "t", rootId: "r", at: 0, attempts: 0, ...extra }) as Inbound;

serviceContract({ describe, it }, () => ({
  name: "people",
  api: createPeople(SECTION),
  works: [
    { name: "list", call: (people) => people.list().map(({ id }) => id), check: (ids) => expect(ids).toEqual(["ann", "ada", "ben"]) },
    { name: "superiors", call: (people) => people.superiorsOf("ben"), check: (ids) => expect(ids).toEqual(["ada", "ann"]) },
    { name: "a stranger", call: (people) => people.whois({ channel: "chat", sender: "404" }), check: (contact) => expect(contact).toBeUndefined() },
  ],
}));

describe("the check of the section", () => {
  it("CFG-22 refuses circles in reportsTo and names who is in them, once each", () => {
    const circle = { a: { reportsTo: "b" }, b: { reportsTo: "c" }, c: { reportsTo: "a" }, d: { reportsTo: "a" }, self: { reportsTo: "self" } };
    expect(check({ orgChart: circle })).toEqual([
      "error orgChart.a.reportsTo leads in a circle: a > b > c > a; one of them must report to somebody else, or to nobody",
      "error orgChart.self.reportsTo leads in a circle: self > self; one of them must report to somebody else, or to nobody",
    ]);
    // A circle that got past the check, in a file that an older version wrote, ends here too.
    expect(createPeople({ orgChart: circle }).superiorsOf("d")).toEqual(["a", "b", "c"]);
  });

  it("finds a long chain, and a circle at its end, in no time that grows with its square", () => {
    const chain = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`p${at}`, { reportsTo: `p${at + 1}` }]));
    expect(check({ orgChart: { ...chain, p20000: {} } })).toEqual([]);
    expect(check({ orgChart: { ...chain, p20000: { reportsTo: "p19999" } } })).toHaveLength(1);
  });

  it("names what is not there, what is there twice, and what matches nobody", () => {
    expect(check(SECTION)).toEqual(["warning projects[2].pm is no agent: while INTENT_PM_GATE_ENABLED is true, messages about 'human' are refused"]);
    const wrong: BusinessSettings = {
      orgChart: { a: { reportsTo: "nobody", workingWindow: { start: "09:00", end: "10:00", days: "mon-xyz" } } },
      projects: [
        { id: "p", pm: "nobody" },
        { id: "p", client: "X" },
      ],
      contactMap: [
        { channel: "chat" },
        { senderId: "1" },
        { channel: "chat", senderId: "1", project: "q" },
        { channel: "chat", senderId: "1" },
        { channel: "chat", username: "@Dan" },
        { channel: "chat", username: "dan", project: "p", client: "Y" },
      ],
    };
    expect(check(wrong).map((line) => line.split(" ").slice(0, 2).join(" "))).toEqual([
      "error orgChart.a.reportsTo",
      "error orgChart.a.workingWindow.days",
      "error projects[0].pm",
      "error projects[1].id",
      "warning contactMap[0]",
      "warning contactMap[1]",
      "error contactMap[2].project",
      "error contactMap[3]",
      "warning contactMap[5].client",
      "error contactMap[5]",
    ]);
  });
});

describe("contacts", () => {
  const people = createPeople(SECTION);
  it("the entry that says most counts: sender before chat before handle", () => {
    expect(people.whois({ channel: "chat", chat: "room" })).toEqual({ displayName: "The room" });
    expect(people.whois({ channel: "chat", chat: "elsewhere", sender: "7" })).toEqual({ project: "shop", displayName: "Cleo", client: "Acme" });
    expect(people.whois({ channel: "chat", chat: "room", sender: "7" })).toEqual({ client: "Other" });
    expect(people.whois({ channel: "chat", chat: "x", username: "dan" })).toEqual({ project: "orphan" });
    for (const address of [{ channel: "mail", sender: "7" }, { channel: "chat", sender: "" }, { channel: "chat", username: "" }, { channel: "" }])
      expect(people.whois(address)).toBeUndefined();
  });

  it("hostile ids find nothing that is not there", () => {
    const odd = createPeople(JSON.parse('{"orgChart":{"__proto__":{"role":"admin"},"constructor":{"role":"x"}}}'));
    for (const id of ["toString", "hasOwnProperty", ""]) expect([odd.get(id), odd.rolesOf(id), odd.superiorsOf(id)]).toEqual([undefined, [], []]);
    expect(odd.rolesOf("__proto__")).toEqual(["admin"]);
    expect(people.project("__proto__")).toBeUndefined();
  });

  it("10,000 of them are searched by their address, one after the other none", () => {
    const contactMap = Array.from({ length: 10_000 }, (_, at) => ({ channel: "chat", chatId: "one group", senderId: `${at}`, displayName: `n${at}` }));
    const many = createPeople({ contactMap });
    const began = process.cpuUsage();
    for (let at = 0; at < 10_000; at += 1) expect(many.whois({ channel: "chat", chat: "one group", sender: `${at}` })?.displayName).toBe(`n${at}`);
    expect(many.whois({ channel: "chat", chat: "one group" })).toBeUndefined();
    // One hundred million comparisons would take many times as much.
    expect(process.cpuUsage(began).user).toBeLessThan(5_000_000);
    expect(check({ contactMap })).toEqual([]);
  });
});

describe("the gate", () => {
  it("CFG-22 is on for exactly 'true'", () => {
    const table = { true: true, TRUE: false, True: false, "1": false, yes: false, on: false, " true": false, "true ": false, "": false, false: false };
    for (const [value, on] of Object.entries(table)) expect([value, isGateOn(value)]).toEqual([value, on]);
    expect(isGateOn(undefined)).toBe(false);
  });

  it("gives a message of a project's contact to the manager, refuses it where there is none, and leaves everything else alone", () => {
    const gate = { people: createPeople(SECTION), isAgent: (id: string) => id === "ada" };
    const of = (extra: Partial<Message>) => judge(message(extra), gate);
    expect(of({ sender: { id: "7" } })).toEqual({ pm: "ada" });
    expect(of({ sender: { id: "7" }, agent: "ben" })).toEqual({ pm: "ada" });
    expect(of({ sender: { id: "404", handle: "dan" } })).toEqual({ reject: expect.stringContaining("'orphan' has no manager") });
    expect(of({ sender: { id: "9" } })).toEqual({ reject: expect.stringContaining("'ann', is no agent") });
    for (const none of [{}, { sender: { id: "404" } }, { channel: "mail", sender: { id: "7" } }, { sender: { id: "7" }, options: { askedBy: "ada" } }])
      expect(of(none)).toEqual({ pass: true });
    expect(routeTo("ada", message({ account: "main", thread: "t1", platformId: "m1" }))).toEqual({
      agent: "ada",
      conversation: "ada:chat:main:c:t1",
      reply: { channel: "chat", chat: "c", account: "main", thread: "t1", replyTo: "m1" },
    });
  });

  it("registers no inbound and no route tap while it is off", () => {
    for (const [value, taps] of [
      ["true", 1],
      ["1", 0],
      ["", 0],
    ] as const) {
      const ctx = createFakeContext(business, { config: SECTION, env: { INTENT_PM_GATE_ENABLED: value } });
      business.setup(ctx as never);
      const gates = ctx.registered.taps.filter(({ hook }) => hook === "inbound" || hook === "route");
      expect([value, gates.map(({ hook, options }) => [hook, options.required])]).toEqual([
        value,
        taps === 0
          ? []
          : [
              ["inbound", true],
              ["route", true],
            ],
      ]);
    }
  });
});

describe("the context", () => {
  const people = createPeople(SECTION);
  const layer = (id: string, extra: Partial<Message> = {}) => businessLayer({ agent: { id } as Turn["agent"], messages: [message(extra)] }, people)?.text;
  it("tells an agent its place, and who writes; nothing to who has neither", () => {
    expect(layer("ada", { sender: { id: "7" } })).toBe(
      [
        "Business:",
        "- Your role: project manager, support",
        "- You report to ann (lead)",
        "- They report to you: ben",
        "- You manage the projects: shop (for Acme)",
        "- The message comes from Cleo, client Acme, project shop, managed by ada",
      ].join("\n"),
    );
    expect(layer("stranger")).toBeUndefined();
    expect(layer("stranger", { sender: { id: "7" }, options: { askedBy: "ada" } })).toBeUndefined();
  });
});

describe("svc business", () => {
  const run = async (name: string, args: string[], options = {}, section: unknown = SECTION) => {
    const cli = createFakeCli();
    Object.assign(cli, { section: async () => section });
    await command.commands.find((one) => one.name === name)?.run(args, options, cli);
    return cli.printed[0];
  };
  it("lists, shows, draws the tree and says whom an address belongs to", async () => {
    expect((await run("list", []))?.human).toContain("ada  project manager, support  reports to ann  manages shop");
    expect((await run("org", []))?.human).toBe("ann  lead\n  ada  project manager, support\n    ben");
    expect((await run("show", ["ben"]))?.human).toContain("above      ada > ann");
    expect((await run("show", ["shop"]))?.json).toEqual({ project: { id: "shop", pm: "ada", client: "Acme" } });
    expect((await run("whois", ["chat", "7"]))?.json).toEqual({ contact: { project: "shop", displayName: "Cleo", client: "Acme", pm: "ada" } });
    await expect(run("show", ["nobody"])).rejects.toMatchObject({ code: "SVC_BUSINESS_UNKNOWN" });
    await expect(run("whois", ["chat"])).rejects.toMatchObject({ code: "SVC_CLI_USAGE" });
    await expect(run("list", [], {}, null)).rejects.toMatchObject({ code: "SVC_BUSINESS_NONE" });
  });

  it("a name from elsewhere moves no cursor", async () => {
    const printed = await run("list", [], {}, { orgChart: { "a\u001b[31m\u202e": { role: "x\ny" } } });
    expect(printed?.human).toBe("a [31m   x y\n0 contacts");
  });
});
