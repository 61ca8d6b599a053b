import { plainName, quoted, termsOf, yamlTrouble } from "@svc/sdk/foreign-text";
import { createFakeContext } from "@svc/sdk/testing";
import fc from "fast-check";
import { expect, it } from "vitest";
import { clustersOf, gather } from "./clusters.ts";
import procedures from "./index.ts";
import { ranked } from "./layer.ts";
import { slugOf } from "./procedure-folder.ts";
import { likeness } from "./score.ts";
import { checkProcedures, type ProcedureSettings } from "./settings.ts";
import { readSkill, skillText } from "./skill.ts";

const facts = { id: "x", source: "procedures", file: "x.md" } as const;

it("registers its routes for this machine and the dashboard, and what a person decides for people", () => {
  const context = createFakeContext(procedures as never);
  procedures.setup(context as never);
  expect(context.registered.routes.map(({ method, path, guard, forPeople }) => `${method} ${path} ${guard}${forPeople ? " people" : ""}`)).toEqual([
    "GET /procedures loopback",
    "GET /procedures/one loopback",
    "POST /procedures/promote loopback people",
    "POST /procedures/reject loopback people",
    "POST /procedures/extract loopback people",
    "GET /api/procedures scope:dashboard:read",
    "GET /api/procedures/one scope:dashboard:read",
    "POST /api/procedures/promote scope:dashboard:write people",
    "POST /api/procedures/reject scope:dashboard:write people",
  ]);
});

it("a written skill is read as it was, whatever its words", () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, maxLength: 40, unit: "binary" }), fc.string({ maxLength: 200 }), (name, body) => {
      fc.pre(name.trim() !== "");
      const read = readSkill(facts, skillText({ name, description: name, agents: ["a"], cluster: "c" }, body));
      expect(read).toMatchObject({ name: name.trim(), description: name.trim(), body: body.trim(), agents: ["a"], cluster: "c" });
    }),
  );
});

it("front matter that is broken is a problem and no error, whatever it is", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
      expect(readSkill(facts, `---\n${text}\n---\nbody`).source).toBe("procedures");
      expect(readSkill(facts, text).source).toBe("procedures");
    }),
  );
  expect(readSkill(facts, "# Title").problem).toContain("does not begin with front matter");
  expect(readSkill(facts, "---\nname: a\nname: b\n---\n").problem).toContain("no YAML");
  expect(readSkill(facts, "\uFEFF---\r\nname: a\r\ndescription: b\r\n---\r\nbody")).toMatchObject({ name: "a", description: "b", body: "body" });
  expect(readSkill(facts, `---\nx: ${"y".repeat(20_000)}\n---\n`).problem).toContain("longer than");
});

it("front matter whose levels or keys would end or hold the daemon is not handed to the reader of YAML", () => {
  const hostile = [
    "name: ".concat("[".repeat(8_000)),
    `name: ${"{a: ".repeat(4_000)}`,
    "- ".repeat(8_000),
    "? ".repeat(8_000),
    Array.from({ length: 2_000 }, (_, at) => `${at}:`).join("\n"),
  ];
  const deeper = Array.from({ length: 170 }, (_, at) => `${" ".repeat(at)}a:`).join("\n");
  expect(hostile.map((head) => readSkill(facts, `---\n${head}\n---\nx`).problem)).toEqual([
    ...Array.from({ length: 4 }, () => "its front matter cannot be read: it is nested too deep"),
    "its front matter has no name",
  ]);
  expect(readSkill(facts, `---\n${deeper}\n---\nx`).problem).toBe("its front matter has no name");
  expect(yamlTrouble(Array.from({ length: 5_000 }, (_, at) => `${at}:`).join("\n"))).toBe("it has more than 4000 entries");
  expect(yamlTrouble(`name: a\ndescription: |\n${"  [a](b) - c: d, e {f}\n".repeat(500)}`)).toBeUndefined();
});

it("quoted words stay behind the bar, whatever they are", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 500 }), fc.integer({ min: 1, max: 200 }), (text, limit) => {
      for (const line of quoted(text, limit).split(/\r\n?|[\n\v\f\u0085\u2028\u2029]/)) expect(line).toMatch(/^\|(?: |$)/);
      expect(plainName(text)).toMatch(/^[\p{L}\p{N} ._-]{1,64}$/u);
      expect(slugOf(text)).toMatch(/^[a-z0-9][a-z0-9-]{0,59}$/);
    }),
  );
});

it("OPS-08 scores are between 0 and 1, and a request in the words of the description has 1", () => {
  const skillOf = (description: string, at: number) => ({ ...facts, id: `s${at}`, name: `s${at}`, description, body: "x" });
  fc.assert(
    fc.property(fc.array(fc.lorem({ maxCount: 8 }), { minLength: 1, maxLength: 8 }), fc.lorem({ maxCount: 12 }), (descriptions, request) => {
      const all = ranked(descriptions.map(skillOf), request);
      for (const { score } of all) {
        expect(score).toBeGreaterThanOrEqual(0);
        expect(score).toBeLessThanOrEqual(1 + 1e-9);
      }
      const [first = ""] = descriptions;
      fc.pre(termsOf(first).size > 0);
      expect(ranked(descriptions.map(skillOf), first)[0]?.score).toBeCloseTo(1);
    }),
  );
  expect(likeness(new Set(), new Set())).toBe(0);
  expect(ranked([{ ...skillOf("deploy website", 1), problem: "broken" }], "deploy website")).toEqual([]);
});

it("OPS-08 only finished requests of people count, and a group counts its distinct roots", async () => {
  const trace = (id: number, more: object = {}) => ({
    id: `t${id}`,
    rootId: `r${id}`,
    agent: "a",
    entry: "task",
    message: "ship the weekly release",
    steps: [],
    ...more,
  });
  const traces = [
    trace(1),
    trace(2, { rootId: "r1" }),
    trace(3, { entry: "cron" }),
    trace(4, { lead: "t1" }),
    trace(5, { message: "hello" }),
    trace(6, { agent: "b" }),
    trace(7),
  ];
  const runs = await gather({ list: async () => traces as never }, 0, new AbortController().signal);
  expect(runs.map(({ id }) => id)).toEqual(["t1", "t2", "t6", "t7"]);
  const clusters = await clustersOf(runs, 2, new AbortController().signal);
  expect(clusters).toMatchObject([{ agent: "a", roots: 2 }]);
  expect(await clustersOf(runs, 3, new AbortController().signal)).toEqual([]);
});

it("an agent that writes drafts and is not there is refused", () => {
  const section = (via?: string) => ({ extraction: via === undefined ? {} : { via } }) as ProcedureSettings;
  expect(checkProcedures(section("nobody"), { agents: ["a"] })).toMatchObject([{ path: "extraction.via", severity: "error" }]);
  expect(checkProcedures(section("a"), { agents: ["a"] })).toEqual([]);
  expect(checkProcedures(section(), { agents: [] })).toEqual([]);
});

it("the end of a turn that was to write a draft is no reason to look again; the end of another one is", async () => {
  const extraction = { enabled: true, onTaskCompletion: true, minOccurrences: 3, sinceDays: 7, maxClusters: 5, via: "scribe" };
  const traces = { get: async (id: string) => ({ id, entry: id === "own" ? "procedures" : "channel" }), list: async () => [], ids: async () => [] };
  const ctx = createFakeContext(procedures as never, { config: { extraction } as never, traces: traces as never, agents: [{ id: "scribe" }] });
  await (procedures.setup(ctx as never) as { start(): Promise<void> }).start();
  const planned = () => ctx.registered.jobs.filter(({ kind }) => kind === "after").length;
  const ended = async (ref: string) => {
    ctx.events.publish({ kind: "agent", type: "task:completed", summary: "scribe error", ref });
    await new Promise((resolve) => setTimeout(resolve, 5));
  };
  await ended("own");
  expect(planned()).toBe(0);
  await ended("other");
  await ended("third");
  expect(planned()).toBe(1);
});
