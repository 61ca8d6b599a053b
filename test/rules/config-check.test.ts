import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ObjectSchema } from "@svc/sdk";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type CheckedConfig, type ConfigProblem, checkDocument } from "../../kernel/core/config/check.ts";
import { composeSchema, type Parts } from "../../kernel/core/config/compose.ts";
import { openDocument } from "../../kernel/core/config/document.ts";
import { maskSecrets } from "../../kernel/editor/mask.ts";
import { ROOT } from "../house/house.ts";
import { CONTRACT_PARTS } from "../kit/configuration.ts";

const NODE = { id: "n1", name: "Node" };
const AGENT = { name: "A", workspace: "./a" };
const TIERS = ["cli-a", "local"];

const compose = (parts: Partial<Parts> = {}) =>
  composeSchema({
    tiers: TIERS,
    defaultTier: "cli-a",
    strategies: ["layered", "planner"],
    defaultStrategy: "layered",
    ...parts,
    sections: [...CONTRACT_PARTS.sections, ...(parts.sections ?? [])],
    agentKeys: [...CONTRACT_PARTS.agentKeys, ...(parts.agentKeys ?? [])],
  });
const check = (value: object, parts: Partial<Parts> = {}, env: NodeJS.ProcessEnv = {}): CheckedConfig =>
  checkDocument(openDocument({ value: { node: NODE, ...value } }, env), compose(parts));
const agent = (keys: object, parts: Partial<Parts> = {}, env: NodeJS.ProcessEnv = {}) => check({ agents: { a: { ...AGENT, ...keys } } }, parts, env);
const errors = (checked: CheckedConfig) => checked.problems.filter(({ severity }) => severity === "error");
const only = (checked: CheckedConfig): ConfigProblem => {
  expect(checked.problems).toHaveLength(1);
  return checked.problems[0] as ConfigProblem;
};

const DASHBOARD: ObjectSchema = {
  type: "object",
  properties: {
    enabled: { type: "boolean", default: false },
    port: { type: "integer", minimum: 1, maximum: 65_535, default: 4202 },
    token: { type: "string", secret: true },
    daemons: { type: "array", items: { type: "object", required: ["url"], properties: { url: { type: "string" }, token: { type: "string", secret: true } } } },
  },
};
const dashboard = { at: "dashboard", schema: DASHBOARD, owner: "feature-dashboard" };
const botmsg = {
  at: "channels.botmsg",
  owner: "channel-botmsg",
  schema: {
    type: "object",
    properties: {
      enabled: { type: "boolean", default: false },
      accounts: {
        type: "object",
        additionalProperties: { type: "object", required: ["token"], properties: { token: { type: "string", minLength: 1, secret: true } } },
      },
    },
  } satisfies ObjectSchema,
};

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

  it("row 166 screen and decisions, of which no field is shown, are kept whatever they hold and read by nothing", () => {
    for (const value of [{ still: true }, [1], "x", 0, null]) {
      const checked = check({ screen: value, decisions: value });
      expect(checked.problems).toEqual([]);
      expect(checked.value).toMatchObject({ screen: value, decisions: value });
    }
    const manifests = readdirSync(join(ROOT, "plugins"), { recursive: true, encoding: "utf8" }).filter((path) => /^\w+\/[\w-]+\/package\.json$/.test(path));
    expect(manifests.length).toBeGreaterThan(50);
    const sections = manifests.map((path) => JSON.parse(readFileSync(join(ROOT, "plugins", path), "utf8")).svc?.section);
    expect(sections.filter((section) => section === "screen" || section === "decisions")).toEqual([]);
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

describe("plugins", () => {
  it("CFG-12 a section's own defaults are filled in: accounts alone do not enable a channel", () => {
    const checked = check({ channels: { botmsg: { accounts: { main: { token: "a-token-long-enough" } } } } }, { sections: [botmsg] });
    expect(checked.problems).toEqual([]);
    expect(checked.section("channels.botmsg")).toMatchObject({ enabled: false });
  });

  it("a bad key in a plugin's section is that plugin's trouble alone", () => {
    const checked = check({ dashboard: { prot: 1, port: 0 }, channels: { botmsg: {} } }, { sections: [dashboard, botmsg] });
    expect(checked.problems.map(({ path, owner }) => [path, owner])).toEqual([
      ["dashboard.prot", "feature-dashboard"],
      ["dashboard.port", "feature-dashboard"],
    ]);
  });

  it("CFG-03 an unset token of a bot account fails with its path, and once", () => {
    const checked = check({ channels: { botmsg: { accounts: { main: { token: "${BOT}" } } } } }, { sections: [botmsg] });
    expect(only(checked)).toMatchObject({ path: "channels.botmsg.accounts.main.token", owner: "channel-botmsg" });
    expect(only(checked).message).toContain("BOT");
  });

  it("CFG-04 a secret that is present but empty, or the word undefined, is an error", () => {
    const unset = only(check({ dashboard: { token: "${UNSET}" } }, { sections: [dashboard] }));
    expect(unset).toMatchObject({ path: "dashboard.token", owner: "feature-dashboard", severity: "error" });
    expect(unset.message).toBe("is an empty secret, which refuses everything; set it or remove the key; the environment variable UNSET is empty or not set");
    for (const token of ["", "  ", "undefined", "null"]) expect(only(check({ dashboard: { token } }, { sections: [dashboard] })).severity).toBe("error");
    expect(check({ dashboard: {} }, { sections: [dashboard] }).problems).toEqual([]);
  });

  it("CFG-04 a provider without its key is unusable and stops nothing else", () => {
    const problem = only(check({ providers: { main: { apiKey: "${KEY}" } } }));
    expect(problem).toMatchObject({ path: "providers.main.apiKey", severity: "warning" });
    expect(problem.message).toContain("KEY is empty or not set");
  });

  it("CFG-04 warns of short secrets, of one secret at two places, and of list entries a variable left empty", () => {
    const long = "0123456789abcdef";
    expect(only(check({ dashboard: { token: "short" } }, { sections: [dashboard] }))).toMatchObject({ path: "dashboard.token", severity: "warning" });
    const twice = only(check({ providers: { a: { apiKey: long } }, dashboard: { daemons: [{ url: "u", token: long }] } }, { sections: [dashboard] }));
    expect(twice).toMatchObject({ path: "dashboard.daemons[0].token", severity: "warning" });
    expect(twice.message).toContain("providers.a.apiKey");
    expect(only(agent({ intents: ["issue.opened", "${MORE}"] }))).toMatchObject({ path: "agents.a.intents[1]", severity: "warning" });
  });

  it("never repeats a secret in a message", () => {
    const secret = "hunter2-hunter2-hunter2";
    const checked = check(
      {
        providers: { a: { apiKey: secret, apikey: secret }, b: { apiKey: 4711 } },
        dashboard: { token: [secret], tokn: secret },
        agents: { a: { ...AGENT, access: secret } },
      },
      { sections: [dashboard] },
    );
    expect(errors(checked).length).toBeGreaterThanOrEqual(5);
    expect(JSON.stringify(checked.problems)).not.toContain(secret);
    expect(JSON.stringify(checked.problems)).not.toContain("4711");
  });

  it("lists the values to scrub", () => {
    const mcp = {
      x: { command: "c", env: { GH_TOKEN: "token-of-the-forge", MODE: "production" } },
      y: { type: "http", url: "http://h/", headers: { Authorization: "Bearer abcdefgh" } },
    };
    const checked = check({ agents: { a: { ...AGENT, mcp } }, providers: { a: { apiKey: "${KEY}" }, b: { apiKey: "abc" } } }, {}, { KEY: "expanded-key-of-a" });
    expect(new Set(checked.secrets)).toEqual(new Set(["token-of-the-forge", "Bearer abcdefgh", "abcdefgh", "expanded-key-of-a"]));
  });

  it("masks credentials for a screen and leaves the rest", () => {
    const composed = compose({ sections: [dashboard] });
    const value = {
      node: NODE,
      providers: { a: { apiKey: "k" }, b: { apiKey: "" } },
      dashboard: { port: 1, token: "t", daemons: [{ url: "u", token: "t" }] },
      agents: {
        a: { ...AGENT, mcp: { x: { env: { API_KEY: "k", MODE: "m" } } }, integrations: [{ kind: "k", label: "l", credentials: { tokenEnv: "NAME" } }] },
      },
      voice: { apiKey: "k", name: "n" },
    };
    expect(maskSecrets(value, composed)).toEqual({
      node: NODE,
      providers: { a: { apiKey: "***" }, b: { apiKey: "" } },
      dashboard: { port: 1, token: "***", daemons: [{ url: "u", token: "***" }] },
      agents: {
        a: { ...AGENT, mcp: { x: { env: { API_KEY: "***", MODE: "***" } } }, integrations: [{ kind: "k", label: "l", credentials: { tokenEnv: "NAME" } }] },
      },
      voice: { apiKey: "***", name: "n" },
    });
    expect(value.dashboard.token).toBe("t");
  });

  it("keys that a plugin adds to agents are judged by its schema alone", () => {
    const keys = {
      owner: "feature-wiki",
      schema: {
        type: "object",
        properties: { wiki: { type: "object", default: {}, properties: { pages: { type: "integer", minimum: 1, default: 7 } } } },
      } satisfies ObjectSchema,
    };
    const parts = { agentKeys: [keys] };
    expect(agent({}, parts).value).toHaveProperty(["agents", "a", "wiki"], { pages: 7 });
    expect(only(agent({ wiki: { pages: 0 } }, parts))).toMatchObject({ path: "agents.a.wiki.pages", owner: "feature-wiki", agent: "a" });
    expect(only(agent({ wiki: { page: 1 } }, parts))).toMatchObject({ path: "agents.a.wiki.page", owner: "feature-wiki" });
    expect(only(agent({ wiki: {} }))).toMatchObject({ path: "agents.a.wiki" });
  });

  it("who comes first keeps a contested name, the other is refused", () => {
    const other = { ...dashboard, owner: "feature-other" };
    const inner = { at: "dashboard.pages", schema: DASHBOARD, owner: "feature-pages" };
    const stolen = { at: "session", schema: DASHBOARD, owner: "feature-thief" };
    const agentKeys = [
      { owner: "feature-x", schema: { type: "object", properties: { tier: {} } } satisfies ObjectSchema },
      { owner: "feature-y", schema: { type: "object", properties: { y: {} } } satisfies ObjectSchema },
      { owner: "feature-z", schema: { type: "object", properties: { y: {} } } satisfies ObjectSchema },
    ];
    const checked = check({ dashboard: {} }, { sections: [dashboard, other, inner, stolen], agentKeys });
    expect(checked.problems.map(({ owner, path }) => [owner, path])).toEqual([
      ["feature-other", "dashboard"],
      ["feature-pages", "dashboard.pages"],
      ["feature-thief", "session"],
      ["feature-x", "agents.*.tier"],
      ["feature-z", "agents.*.y"],
    ]);
  });

  it("an unusable schema fails its plugin and nobody else", () => {
    const broken = { at: "broken", owner: "feature-broken", schema: { type: "object", properties: { a: { type: "strng" } } } as unknown as ObjectSchema };
    const odd = { at: "odd", owner: "feature-odd", schema: { type: "object", properties: { a: { type: "string", minLenght: 1 } } } as unknown as ObjectSchema };
    const checked = check({ broken: { a: 1 }, odd: {}, dashboard: {} }, { sections: [broken, odd, dashboard] });
    expect(checked.problems.map(({ owner, path }) => [owner, path])).toEqual([
      ["feature-broken", "broken"],
      ["feature-odd", "odd"],
    ]);
    expect(check({ dashboard: {} }, { sections: [broken, dashboard] }).problems).toEqual([]);
  });

  it("a section whose plugin is not loaded is no mistake; an enabled one earns a warning", () => {
    const parts = {
      dormant: [
        { at: "mesh", owner: "feature-mesh" },
        { at: "channels.push", owner: "channel-push" },
      ],
    };
    expect(check({ mesh: { enabled: false, anything: 1 }, channels: { push: {} } }, parts).problems).toEqual([]);
    expect(only(check({ mesh: { enabled: true } }, parts))).toMatchObject({ path: "mesh", owner: "feature-mesh", severity: "warning" });
    expect(only(check({ channels: 5 }, parts)).message).toBe("must be an object { ... }");
  });

  it("an absent section is what its defaults make", () => {
    expect(check({}, { sections: [dashboard] }).section("dashboard")).toEqual({ enabled: false, port: 4202 });
    expect(check({}).section("dashboard")).toEqual({});
  });
});

describe("any document", () => {
  const parts = {
    sections: [dashboard, botmsg],
    agentKeys: [{ owner: "feature-y", schema: { type: "object", properties: { y: { type: "string" } } } satisfies ObjectSchema }],
  };
  const key = fc.oneof(
    fc.constantFrom(
      "node",
      "agents",
      "a",
      "mcp",
      "tier",
      "integrations",
      "session",
      "channels",
      "botmsg",
      "accounts",
      "token",
      "dashboard",
      "providers",
      "apiKey",
      "plugins",
      "voice",
      "system",
      "y",
    ),
    fc.string().filter((text) => !["__proto__", "constructor", "prototype"].includes(text)),
  );
  const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 5 },
      fc.oneof(
        fc.string(),
        fc.constantFrom("${A}", "x${B}", ""),
        fc.integer(),
        // JSON has no -0.
        fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
        fc.boolean(),
        fc.constant(null),
      ),
      fc.array(tie("tree"), { maxLength: 4 }),
      fc.dictionary(key, tie("tree"), { maxKeys: 6 }),
    ),
  }));

  it("is checked without a crash, every problem has words and a place, and the answer is the same twice", () => {
    const composed = compose(parts);
    fc.assert(
      fc.property(fc.dictionary(key, tree, { maxKeys: 8 }), (value) => {
        const document = openDocument({ file: "svc.json", text: JSON.stringify(value, null, 2) }, { A: "" });
        const checked = checkDocument(document, composed);
        expect(checkDocument(document, composed)).toMatchObject({ problems: checked.problems });
        for (const { message, line, column } of checked.problems) {
          expect(message).not.toBe("");
          expect(line).toBeGreaterThan(0);
          expect(column).toBeGreaterThan(0);
        }
        expect(document.expanded).toEqual(openDocument({ value }, { A: "" }).expanded);
        maskSecrets(checked.value, composed);
      }),
      { numRuns: 400 },
    );
  });
});
