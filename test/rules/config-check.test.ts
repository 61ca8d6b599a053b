import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkDocument } from "../../kernel/core/config/check.ts";
import { openDocument } from "../../kernel/core/config/document.ts";
import { ROOT } from "../house/house.ts";
import { AGENT, agent, botmsg, check, compose, DASHBOARD, NODE, only } from "./config-check.harness.ts";

const UNREAD = ["screen", "meshVoices", "decisions"];

describe("the core", () => {
  it("CFG-01 the first of two stated defaults holds", () => {
    for (const checked of [check({}), check({ session: {} })]) {
      expect(checked.problems).toEqual([]);
      expect(checked.value.session).toMatchObject({ staleMinutes: 720, maxTurnsPerSession: 40, tierTwoThresholdTokens: 180_000 });
    }
  });

  it("SEC-S2 takes names and networks by which it is reached, and says what one that is none should look like", () => {
    expect(
      check({ node: { ...NODE, hosts: ["svc.example", "[2001:db8::1]"], trustedProxies: ["127.0.0.1", "10.0.0.0/8", "2001:db8::/32"] } }).problems,
    ).toEqual([]);
    for (const host of ["https://svc.example", "svc.example:80", "svc.example/x", ""])
      expect(only(check({ node: { ...NODE, hosts: [host] } }))).toMatchObject({ path: "node.hosts[0]", message: expect.stringContaining("svc.example") });
    for (const network of ["proxy.example", "10.0.0.0/33", "10.0.0.0/", "127.0.0.1:80", "", "1.2.3.4/8/8"])
      expect(only(check({ node: { ...NODE, trustedProxies: [network] } }))).toMatchObject({
        path: "node.trustedProxies[0]",
        message: expect.stringContaining("10.0.0.0/8"),
      });
  });

  it.each([
    ["maxExecutionMinutes", 1, 240],
    ["maxDelegationDepth", 0, 50],
    ["preSpawnTimeoutSec", 10, 3600],
    ["drainTimeoutSeconds", 0, 86_400],
  ])("CFG-02 agents.*.%s takes its ends and refuses what is beyond, naming both", (key, low, high) => {
    for (const value of [low, high]) {
      const checked = agent({ [key]: value });
      expect(checked.problems).toEqual([]);
      expect(checked.value).toHaveProperty(["agents", "a", key], value);
    }
    for (const value of [low - 1, high + 1]) {
      expect(only(agent({ [key]: value }))).toEqual({
        path: `agents.a.${key}`,
        message: `must be from ${low} to ${high}, is ${value}`,
        agent: "a",
        severity: "error",
      });
    }
  });

  it.each([
    ["session", "staleMinutes", 1, 1440],
    ["session", "maxTurnsPerSession", 2, 200],
    ["session", "tierTwoThresholdTokens", 50_000, 200_000],
    ["session", "maxClaudeCodeDispatchesPerHour", 1, 10_000],
    ["session", "maxClaudeCodeDispatchesPer5h", 1, 50_000],
    ["session", "continuityStateTurns", 0, 5],
    ["processPool", "maxIdleSeconds", 5, 86_400],
    ["processPool", "maxAgeSeconds", 60, 86_400],
    ["processPool", "sweepIntervalSeconds", 1, 300],
    ["shutdown", "drainTimeoutSeconds", 0, 86_400],
  ])("CFG-02 %s.%s is inclusive and refuses", (section, key, low, high) => {
    for (const value of [low, high]) expect(check({ [section]: { [key]: value } }).problems).toEqual([]);
    for (const value of [low - 1, high + 1]) expect(only(check({ [section]: { [key]: value } })).path).toBe(`${section}.${key}`);
  });

  it("FAULT-17 CFG-03 an unset variable in a required text names key and variable; the other agents can run", () => {
    const checked = check({ agents: { a: AGENT, b: { ...AGENT, workspace: "${WORK}" } } });
    expect(only(checked)).toEqual({
      path: "agents.b.workspace",
      message: "must not be empty; the environment variable WORK is empty or not set",
      agent: "b",
      severity: "error",
    });
  });

  it("CFG-03 an unset variable is no problem where the empty text is valid", () => {
    const checked = agent({ systemPrompt: "Hello ${WHO}" });
    expect(checked.problems).toEqual([]);
    expect(checked.value).toHaveProperty(["agents", "a", "systemPrompt"], "Hello ");
  });

  it("names the line and the column", () => {
    const text =
      '{\n  "node": {"id": "n", "name": "N"},\n  "agents": {\n    "a": {\n      "name": "A", "workspace": ".",\n      "maxConcurent": 2\n    }, "b": {"name": "B"}\n  }\n}';
    const { problems } = checkDocument(openDocument({ file: "svc.json", text }, {}), compose());
    expect(problems).toEqual([
      { path: "agents.a.maxConcurent", line: 6, column: 7, message: "is not a known setting; did you mean 'maxConcurrent'?", agent: "a", severity: "error" },
      {
        path: "agents.b.workspace",
        line: 7,
        column: 8,
        message: "is required (working folder: instructions, skills, tool-server configuration)",
        agent: "b",
        severity: "error",
      },
    ]);
  });

  it("says what is missing in an empty document", () => {
    const checked = checkDocument(openDocument({ value: {} }, {}), compose());
    expect(only(checked)).toMatchObject({ path: "node", severity: "error" });
  });

  it("CFG-11 a section at the wrong place is refused with its path", () => {
    const phoneTriage = { at: "phoneTriage", schema: DASHBOARD, owner: "feature-phone-triage" };
    const problem = only(check({ channels: { phoneTriage: {} } }, { sections: [phoneTriage, botmsg] }));
    expect(problem).toMatchObject({ path: "channels.phoneTriage", severity: "error" });
    expect(problem.message).toContain("no plugin of this installation owns it");
    expect(check({ phoneTriage: {} }, { sections: [phoneTriage, botmsg] }).problems).toEqual([]);
  });

  it("CFG-13 what is accepted without effect validates", () => {
    const { problems } = check({ providers: { main: { defaultModel: "m", baseUrl: "anything" } } });
    expect(problems.map(({ path, message, severity }) => `${severity} ${path} ${message}`)).toEqual([
      "warning providers.main.baseUrl is not read; the address of a provider is its key endpoint",
      "warning providers.main.defaultModel is not read; set model on the agents that use the provider",
    ]);
  });

  it("CFG-14 a tool server needs a command for stdio, an address for http", () => {
    expect(only(agent({ mcp: { x: {} } }))).toMatchObject({ path: "agents.a.mcp.x.command", message: "is required when type is stdio" });
    expect(only(agent({ mcp: { x: { type: "http", command: "c" } } }))).toMatchObject({ path: "agents.a.mcp.x.url", message: "is required when type is http" });
    expect(agent({ mcp: { x: { command: "c" }, y: { type: "http", url: "http://127.0.0.1:1/" } } }).problems).toEqual([]);
  });

  it("CFG-16 integrations take the eight credential keys, upper-case names, labels unique per kind; any kind", () => {
    const one = { kind: "crm", label: "main" };
    const credentials = {
      tokenEnv: "A_TOKEN",
      privateAppTokenEnv: "B",
      apiKeyEnv: "C",
      refreshTokenEnv: "D",
      clientIdEnv: "E",
      clientSecretEnv: "F",
      auth: "keyring",
      sessionDir: "s",
    };
    expect(
      agent({
        integrations: [
          { ...one, credentials, metadata: { a: "x", b: 1, c: true } },
          { kind: "mail", label: "main" },
          { kind: "never-heard-of", label: "x" },
        ],
      }).problems,
    ).toEqual([]);
    expect(only(agent({ integrations: [one, { kind: "mail", label: "main" }, one] }))).toMatchObject({ path: "agents.a.integrations[2].label" });
    expect(only(agent({ integrations: [{ ...one, credentials: { token: "sk-live-1" } }] })).path).toBe("agents.a.integrations[0].credentials.token");
    expect(only(agent({ integrations: [{ ...one, credentials: { tokenEnv: "lower" } }] })).path).toBe("agents.a.integrations[0].credentials.tokenEnv");
    expect(only(agent({ integrations: [{ ...one, metadata: { a: [] } }] })).message).toBe("must be a text or a number or true or false, not a list [ ... ]");
  });

  it("CFG-17 inherited values stay unset, to be looked up when used", () => {
    const { value } = agent({});
    for (const key of ["contextStrategy", "forgeAutoReply", "drainTimeoutSeconds"]) expect(value).not.toHaveProperty(["agents", "a", key]);
    expect(value).not.toHaveProperty(["shutdown", "drainTimeoutSeconds"]);
  });

  it("CFG-20 unknown keys are refused with their path, and passed through where no field list exists", () => {
    for (const [value, path] of [
      [{ sesion: {} }, "sesion"],
      [{ session: { stale: 1 } }, "session.stale"],
      [{ node: { ...NODE, port: 1 } }, "node.port"],
      [{ shutdown: { restart: { by: "x" } } }, "shutdown.restart.by"],
      [{ agents: { a: { ...AGENT, heartbeat: { every: 1 } } } }, "agents.a.heartbeat.every"],
      [{ providers: { p: { key: "x" } } }, "providers.p.key"],
    ] as const) {
      expect(only(check(value)).path).toBe(path);
    }
    expect(only(check({ sesion: {} })).message).toBe("is not a known setting; did you mean 'session'?; no plugin of this installation owns it");
    const through = { voice: { any: [1] }, meshVoices: [], screen: "x", decisions: { a: { b: 1 } }, business: { org: { a: { role: "r" } } } };
    const checked = check(through);
    expect(checked.problems).toEqual([]);
    expect(checked.value).toMatchObject(through);
  });

  it("row 166 screen, meshVoices and decisions, of which no field is shown, are kept whatever they hold, read by nothing, and say so", () => {
    for (const value of [{ still: true }, [1], "x", 0, null]) {
      const checked = check({ screen: value, meshVoices: value, decisions: value });
      expect(checked.problems).toEqual([]);
      expect(checked.value).toMatchObject({ screen: value, meshVoices: value, decisions: value });
    }
    const { sections: keys } = JSON.parse(readFileSync(join(ROOT, "kernel/contract/keys.json"), "utf8"));
    for (const key of UNREAD) expect(keys[key].description).toContain("read by nothing");
    const manifests = readdirSync(join(ROOT, "plugins"), { recursive: true, encoding: "utf8" }).filter((path) => /^\w+\/[\w-]+\/package\.json$/.test(path));
    expect(manifests.length).toBeGreaterThan(50);
    const sections = manifests.map((path) => JSON.parse(readFileSync(join(ROOT, "plugins", path), "utf8")).svc?.section);
    expect(sections.filter((section) => UNREAD.includes(section))).toEqual([]);
  });

  it("CFG-24 a file without plugins is whole", () => {
    const checked = agent({});
    expect(checked.problems).toEqual([]);
    expect(checked.value.plugins).toEqual([]);
    expect(check({ plugins: ["svc-plugin-x", "./mine.ts", "!feature-mesh"] }).problems).toEqual([]);
  });

  it("knows the tiers that plugins provide, and names them", () => {
    expect(agent({ tier: "local" }).problems).toEqual([]);
    expect(only(agent({ tier: "lokal" }))).toMatchObject({
      path: "agents.a.tier",
      message: "names the tier 'lokal', which no plugin here provides; did you mean 'local'?; known tiers: cli-a, local",
    });
    expect(only(agent({ tier: "CLI A" })).path).toBe("agents.a.tier");
  });

  it("refuses a user or a password in node.url, which other daemons and readers are told, and does not repeat it", () => {
    for (const url of ["https://me:pass-word@n1.example/svc/", "https://pass-word@n1.example", "http://:pass-word@n1.example"]) {
      const problem = only(check({ node: { ...NODE, url } }));
      expect(problem).toMatchObject({ path: "node.url", severity: "error", message: expect.stringContaining("no user and no password") });
      expect(problem.message).not.toContain("pass-word");
    }
    expect(check({ node: { ...NODE, url: "https://n1.example/svc/@home" } }).problems).toEqual([]);
  });

  it("refuses names that nothing has", () => {
    expect(only(agent({ provider: "mian" }, {}, {})).path).toBe("agents.a.provider");
    expect(only(check({ node: { ...NODE, defaultAgent: "b" }, agents: { a: AGENT } })).path).toBe("node.defaultAgent");
    expect(only(check({ agents: { "Big One": AGENT } }))).toMatchObject({ path: "agents.Big One", agent: "Big One" });
    expect(only(check({ node: { ...NODE, bind: "localhost:99999" } })).path).toBe("node.bind");
    expect(only(check({ node: { ...NODE, bind: "18800" } })).path).toBe("node.bind");
    // OPR-m18
    for (const bind of ["18800", "localhost", "127.0.0.1", "http://localhost:1"])
      expect(only(check({ node: { ...NODE, bind } })).message).toBe("must be host:port, such as 127.0.0.1:18800");
    expect(check({ node: { ...NODE, bind: "[::1]:0" } }).problems).toEqual([]);
  });

  it("FAULT-55 a regular expression that cannot be matched in linear time is refused, in words", () => {
    for (const allowBy of ["(", "a{2,1}", "[z-a]", "(?=a)b", "(?<!b)a", "(abc)\\1", "(?<n>a)\\k<n>"]) {
      const { path, message } = only(check({ shutdown: { restart: { allowBy } } }));
      expect(path).toBe("shutdown.restart.allowBy");
      if (allowBy.length > 6) expect(message).toContain("lookaround and back-references are not taken");
    }
    for (const allowBy of ["^(ops|deploy)-[a-z]+$", "^(a+)+$", "(a|aa)+$", "\\p{L}\\u0041\\/", "(ab)+", "[(+)]+\\(+", "(a+)(b+)", "(\\d{4}-)+", "(a+)?"]) {
      expect(check({ shutdown: { restart: { allowBy } } }).problems).toEqual([]);
    }
  });

  it("explains a choice by the branch that was meant", () => {
    expect(only(agent({ voice: { system: 5 } })).message).toBe("must be a text or an object { ... }");
    expect(only(agent({ voice: { system: { de: 5 } } }))).toMatchObject({ path: "agents.a.voice.system.de", message: "must be a text, is 5" });
    expect(agent({ voice: { system: { de: "Anna" } } }).problems).toEqual([]);
  });

  it("the value is frozen, and the document is not touched", () => {
    const document = openDocument({ value: { node: NODE, agents: { a: AGENT } } }, {});
    const { value } = checkDocument(document, compose());
    expect(document.expanded).toEqual({ node: NODE, agents: { a: AGENT } });
    expect(() => ((value.agents as { a: { name: string } }).a.name = "x")).toThrow(TypeError);
  });
});
