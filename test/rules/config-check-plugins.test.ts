import type { ObjectSchema } from "@svc/sdk";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkDocument } from "../../kernel/core/config/check.ts";
import { openDocument } from "../../kernel/core/config/document.ts";
import { maskSecrets } from "../../kernel/editor/mask.ts";
import { AGENT, agent, botmsg, check, compose, DASHBOARD, dashboard, errors, NODE, only } from "./config-check.harness.ts";

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
