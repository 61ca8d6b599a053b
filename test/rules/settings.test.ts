import { lstatSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Kernel } from "@svc/kernel";
import { type Capability, definePlugin, type Plugin, type PluginContext, type Settings } from "@svc/sdk";
import { createFakeContext } from "@svc/sdk/testing";
import { afterEach, describe, expect, it } from "vitest";
import { temporaryFolder } from "../kit/kernel.ts";
import { scriptedTier } from "../kit/scripted.ts";
import { createTestKernel } from "../kit/test-kernel.ts";

const SECRET = "CANARY-settings-secret-0001";

const schema = {
  type: "object",
  properties: {
    word: { type: "string" },
    count: { type: "integer", minimum: 1, maximum: 9, default: 3 },
    token: { type: "string", secret: true },
    port: { type: "integer", restart: true },
    rows: { type: "array", items: { type: "object", required: ["id"], properties: { id: { type: "string" }, on: { type: "boolean", default: true } } } },
  },
} as const;

/** What the tests do in the life of a plugin. */
interface Told {
  ctx?: PluginContext;
  seen: unknown[];
  reload?: () => Promise<void>;
  start?: () => Promise<void>;
  stop?: () => Promise<void>;
  check?: () => void;
}

const plugin = (name: string, at: string, capabilities: Capability[], told: Told): Plugin<never> =>
  definePlugin<object>({
    kind: "feature",
    name,
    version: "1.0.0",
    svc: "*",
    config: {
      at,
      schema,
      check: () => {
        told.check?.();
        return [];
      },
    },
    capabilities,
    setup(ctx) {
      told.ctx = ctx as PluginContext;
      told.seen.push(ctx.config);
      return {
        start: async () => told.start?.(),
        stop: async () => told.stop?.(),
        reload: async (config) => {
          told.seen.push(config);
          await told.reload?.();
        },
      };
    },
  }) as unknown as Plugin<never>;

const kernels: Kernel[] = [];
afterEach(async () => {
  for (const kernel of kernels.splice(0)) await kernel.stop({ drainSeconds: 0 });
});

const TEXT = `{
  "node": { "id": "n", "name": "N" },
    "agents": { "a": { "name": "A", "workspace": "./w", "tier": "scripted" } },
  "other": { "word": "x", "token": "${SECRET}" },

  "acme": {
    "token": "\${ACME_TOKEN}",
    "word": "hello"
  }
}
`;

async function running({ told = { seen: [] } as Told, capabilities = ["settings"] as Capability[], text = TEXT, linked = false } = {}) {
  const folder = await temporaryFolder();
  const file = join(folder, "svc.json");
  const real = linked ? join(folder, "real.json") : file;
  writeFileSync(real, text, { mode: 0o640 });
  if (linked) symlinkSync("real.json", file);
  const admin: Told = { seen: [] };
  const kernel = await createTestKernel({
    config: file,
    env: { ACME_TOKEN: "a-token-of-the-environment", OTHER_TOKEN: "another-token-of-the-environment", DECLARED: "declared-token-of-the-environment" },
    plugins: [
      scriptedTier().plugin as Plugin<never>,
      plugin("acme", "acme", capabilities, told),
      plugin("other", "other", [], { seen: [] }),
      plugin("admin", "admin", ["settings", "all-settings"], admin),
    ],
  });
  kernels.push(kernel);
  const events: unknown[] = [];
  kernel.bus.subscribe((envelope) => events.push(envelope));
  await kernel.start();
  return {
    kernel,
    file,
    real,
    told,
    events,
    text: () => readFileSync(file, "utf8"),
    own: () => (told.ctx as PluginContext).settings,
    all: () => (admin.ctx as PluginContext).settings,
    backups: () => readdirSync(folder).filter((name) => name.includes(".bak.")),
    left: () => readdirSync(folder).filter((name) => name.startsWith(".") && name !== ".svc"),
  };
}

const by = "a test";
const code = (name: string, message = "") => expect.objectContaining({ code: name, message: expect.stringContaining(message) });

// The plugin of the section 'admin' is active only with it.
const withAdmin = TEXT.replace('"acme": {', '"admin": {},\n  "acme": {');

describe("reading", () => {
  it("K2 a plugin reads its own section from the top of the file, as written, credentials without their values", async () => {
    const { own } = await running();
    const { document, secrets, problems, revision } = await own().read();
    expect(document).toEqual({ acme: { token: "${ACME_TOKEN}", word: "hello" } });
    expect(secrets).toEqual([{ path: "acme.token", set: true, reference: "ACME_TOKEN" }]);
    expect(problems).toEqual([]);
    expect(revision).toMatch(/^[\w-]{22}$/);
    expect(await own().schema()).toEqual(schema);
  });

  it("K2 with all-settings a plugin reads everything, literal credentials masked, with the problems of svc config check", async () => {
    const { all } = await running({ text: withAdmin.replace('"word": "x"', '"word": "x", "count": 77') });
    const { document, secrets, problems } = await all().read();
    expect(JSON.stringify(document)).not.toContain("CANARY");
    expect(document).toMatchObject({ node: { id: "n" }, other: { token: "***" } });
    expect(secrets).toEqual([
      { path: "other.token", set: true },
      { path: "acme.token", set: true, reference: "ACME_TOKEN" },
    ]);
    expect(problems).toContainEqual({ path: "other.count", line: 4, column: expect.any(Number), message: "must be from 1 to 9, is 77", severity: "error" });
    const whole = await all().schema();
    expect(whole.properties?.acme).toEqual(schema);
    expect(Object.keys(whole.properties ?? {})).toEqual(expect.arrayContaining(["node", "agents", "other", "retention"]));
  });

  it("K2 the revision changes with what the plugin may see, and with nothing else", async () => {
    const { own, all } = await running({ text: withAdmin });
    const before = await own().read();
    const whole = await all().read();
    await all().change([{ path: ["other", "word"], value: "y" }], { by });
    expect((await own().read()).revision).toBe(before.revision);
    expect((await all().read()).revision).not.toBe(whole.revision);
    const { revision } = await own().change([{ path: ["acme", "word"], value: "z" }], { by });
    expect(revision).not.toBe(before.revision);
    expect((await own().read()).revision).toBe(revision);
  });

  it("K2 a kernel that was given its configuration in code has no file", async () => {
    const told: Told = { seen: [] };
    const kernel = await createTestKernel({
      config: { node: { id: "n", name: "N" }, agents: {}, acme: {} },
      plugins: [plugin("acme", "acme", ["settings"], told)],
    });
    kernels.push(kernel);
    await kernel.start();
    await expect(told.ctx?.settings.read()).rejects.toThrow(code("SVC_SETTINGS_NONE"));
  });
});

describe("changing", () => {
  it("CFG-05 CFG-06 a change touches its characters alone, is in force at once, and is told without its value", async () => {
    const { own, text, told, events, left } = await running();
    const report = await own().change([{ path: ["acme", "word"], value: "CANARY-value" }], { by: "Ann\nnext" });
    expect(text()).toBe(TEXT.replace('"hello"', '"CANARY-value"'));
    expect(report).toEqual({ revision: expect.any(String), reloaded: ["acme.word"], restartRequired: [] });
    expect(told.seen.at(-1)).toEqual({ token: "a-token-of-the-environment", word: "CANARY-value", count: 3 });
    const said = events.find((event) => JSON.stringify(event).includes("settings-changed"));
    expect(said).toMatchObject({ summary: "svc.json changed by Ann next: acme.word", data: { plugin: "feature-acme", paths: ["acme.word"] } });
    expect(JSON.stringify(said)).not.toContain("CANARY");
    expect(left()).toEqual([]);
  });

  it("CFG-09 says what waits for a restart, and what is the same already changes nothing", async () => {
    const { own, text } = await running();
    expect(
      await own().change(
        [
          { path: ["acme", "port"], value: 1 },
          { path: ["acme", "count"], value: 5 },
        ],
        { by },
      ),
    ).toMatchObject({
      reloaded: ["acme.count"],
      restartRequired: ["acme.port"],
    });
    const before = text();
    expect(await own().change([{ path: ["acme", "port"], value: 1 }], { by, backup: true })).toMatchObject({ reloaded: [] });
    expect(text()).toBe(before);
  });

  it("CFG-07 a change that makes the file worse leaves it byte-identical and makes no copy; one that mends something may leave the rest", async () => {
    const { all, text, backups } = await running({ text: withAdmin.replace('"word": "hello"', '"word": 7, "count": 12') });
    const before = text();
    await expect(all().change([{ path: ["acme", "rows"], value: [{}] }], { by, backup: true })).rejects.toThrow(
      code("SVC_CONFIG_INVALID", "acme.rows[0].id: is required"),
    );
    expect([text(), backups()]).toEqual([before, []]);
    await all().change([{ path: ["acme", "word"], value: "mended" }], { by });
    expect(text()).toContain('"word": "mended", "count": 12');
  });

  it("CFG-08 two changes within a second leave two copies of what was there", async () => {
    const { own, text, backups } = await running();
    const first = await own().change([{ path: ["acme", "word"], value: "one" }], { by, backup: true });
    const second = await own().change([{ path: ["acme", "word"], value: "two" }], { by, backup: true });
    expect(new Set([first.backup, second.backup]).size).toBe(2);
    expect([first, second].map(({ backup }) => readFileSync(backup as string, "utf8"))).toEqual([TEXT, TEXT.replace("hello", "one")]);
    expect([backups().length, text()]).toEqual([2, TEXT.replace("hello", "two")]);
  });

  it("K2 a change made from another revision is refused", async () => {
    const { own, text } = await running();
    const { revision } = await own().read();
    await own().change([{ path: ["acme", "count"], value: 4 }], { by, expect: revision });
    const before = text();
    await expect(own().change([{ path: ["acme", "count"], value: 5 }], { by, expect: revision })).rejects.toThrow(code("SVC_CONFIG_CHANGED"));
    expect(text()).toBe(before);
  });

  it("K2 entries of lists are named by their id: added, changed, taken out; several edits are one change", async () => {
    const { own, told } = await running();
    const rows = () => (told.seen.at(-1) as { rows?: unknown[] }).rows;
    await own().change(
      [
        { path: ["acme", "rows", { id: "a" }], value: { id: "a" } },
        { path: ["acme", "rows", { id: "b" }], value: { id: "b", on: false } },
      ],
      { by },
    );
    expect(rows()).toEqual([
      { id: "a", on: true },
      { id: "b", on: false },
    ]);
    await own().change([{ path: ["acme", "rows", { id: "b" }, "on"], value: true }, { path: ["acme", "rows", { id: "a" }] }], { by });
    expect(rows()).toEqual([{ id: "b", on: true }]);
    for (const edit of [{ path: ["acme", "rows", { id: "c" }, "on"], value: true }, { path: ["acme", "rows", { id: "c" }] }])
      await expect(own().change([edit], { by })).rejects.toThrow(code("SVC_CONFIG_PATH", "has no entry with the id 'c'"));
  });

  it("K2 without all-settings nothing but the own section is changed, with it everything", async () => {
    const { own, all, text } = await running({ text: withAdmin });
    const before = text();
    for (const path of [["other", "word"], ["node", "name"], ["agents", "a", "name"], ["acmex"]])
      await expect(
        own().change(
          [
            { path: ["acme", "word"], value: "x" },
            { path, value: "x" },
          ],
          { by },
        ),
      ).rejects.toThrow(code("SVC_SETTINGS_SECTION", "it owns acme, and has not declared 'all-settings'"));
    expect(text()).toBe(before);
    expect(await all().change([{ path: ["agents", "a", "name"], value: "B" }], { by })).toMatchObject({ reloaded: ["agents.a.name"] });
  });

  it("K2 words of strangers expand to nothing: references are refused unless they are meant, and then only those the plugin may read", async () => {
    const { own, all, text } = await running({ text: withAdmin, capabilities: ["settings", "env:DECLARED"] });
    const before = text();
    const value = { id: "${OTHER_TOKEN}" };
    await expect(own().change([{ path: ["acme", "rows"], value: [value] }], { by })).rejects.toThrow(code("SVC_CONFIG_REFERENCE", "reference: true"));
    await expect(own().change([{ path: ["acme", "rows"], value: [value], reference: true }], { by })).rejects.toThrow(
      code("SVC_CONFIG_REFERENCE", "env:<NAME>"),
    );
    await expect(all().change([{ path: ["acme", "word"], value: "${OTHER_TOKEN}" }], { by })).rejects.toThrow(code("SVC_CONFIG_REFERENCE"));
    expect(text()).toBe(before);
    await own().change([{ path: ["acme", "word"], value: "x ${ACME_TOKEN}", reference: true }], { by });
    await own().change([{ path: ["acme", "token"], value: "${DECLARED}", reference: true }], { by });
    await all().change([{ path: ["other", "token"], value: "${OTHER_TOKEN}", reference: true }], { by });
    expect(text()).toContain('"token": "${OTHER_TOKEN}"');
    await own().change([{ path: ["acme", "word"], value: "echo ${HOME:-x} $HOME" }], { by });
    expect(text()).toContain("${HOME:-x}");
  });

  it("K2 the mask is not written back over a credential, and neither is what JSON does not know", async () => {
    const { all, text } = await running({ text: withAdmin });
    const before = text();
    for (const value of ["***", { token: "***" }, "https://user:***@host/x"])
      await expect(all().change([{ path: ["other"], value }], { by })).rejects.toThrow(code("SVC_CONFIG_VALUE", "the mask"));
    for (const value of [Number.NaN, () => {}, new Date(), 1n, { a: undefined }])
      await expect(all().change([{ path: ["other"], value }], { by })).rejects.toThrow(code("SVC_CONFIG_VALUE"));
    for (const path of [
      ["__proto__", "x"],
      ["other", "constructor"],
    ])
      await expect(all().change([{ path, value: 1 }], { by })).rejects.toThrow(code("SVC_CONFIG_KEY"));
    await expect(all().change([{ path: ["other"], value: JSON.parse('{"__proto__": {}}') }], { by })).rejects.toThrow(code("SVC_CONFIG_KEY"));
    for (const path of [[], [1.5], [{}]] as never[]) await expect(all().change([{ path, value: 1 }], { by })).rejects.toThrow(code("SVC_CONFIG_PATH"));
    await expect(all().change([], { by })).rejects.toThrow(code("SVC_CONFIG_VALUE", "1 to 1000"));
    await expect(all().change([{ path: ["other"] }], { by: " " })).rejects.toThrow(code("SVC_CONFIG_VALUE", "by"));
    expect(text()).toBe(before);
  });

  it("K2 an editor outside of svc that saves in between is noticed: the edit is made again, or refused where it changed the same", async () => {
    const told: Told = { seen: [] };
    const { own, text, file } = await running({ told });
    const once = (to: (text: string) => string) => {
      let looked = 0;
      told.check = () => {
        looked += 1;
        if (looked === 2) writeFileSync(file, to(text()));
      };
    };
    once((now) => now.replace('"name": "N"', '"name": "Edited by hand"'));
    await own().change([{ path: ["acme", "word"], value: "kept" }], { by });
    expect(text()).toBe(TEXT.replace('"name": "N"', '"name": "Edited by hand"').replace("hello", "kept"));
    once((now) => now.replace("kept", "by hand"));
    await expect(own().change([{ path: ["acme", "word"], value: "mine" }], { by, backup: true })).rejects.toThrow(code("SVC_CONFIG_CHANGED"));
    expect(text()).toContain('"word": "by hand"');
  });

  it("K2 a file behind a symbolic link stays behind it, with its mode; the copy lies beside the link", async () => {
    const { own, file, real } = await running({ linked: true });
    const { backup } = await own().change([{ path: ["acme", "word"], value: "linked" }], { by, backup: true });
    expect(lstatSync(file).isSymbolicLink()).toBe(true);
    expect(readFileSync(real, "utf8")).toBe(TEXT.replace("hello", "linked"));
    expect(lstatSync(real).mode & 0o777).toBe(0o640);
    expect(backup).toMatch(/svc\.json\.bak\./);
  });

  it("K2 a plugin that changes its section while it starts, reloads or stops does not wait for itself", async () => {
    const told: Told = { seen: [] };
    const reports: unknown[] = [];
    let count = 1;
    const change = async () => {
      count += 1;
      reports.push(await (told.ctx as PluginContext).settings.change([{ path: ["acme", "count"], value: count }], { by }));
    };
    told.start = change;
    const { kernel, own, text } = await running({ told });
    expect(reports).toEqual([{ revision: expect.any(String), reloadSkipped: expect.stringContaining("feature-acme is being started") }]);
    await expect.poll(() => told.seen.at(-1)).toMatchObject({ count: 2 });
    told.reload = async () => {
      delete told.reload;
      await change();
    };
    expect(await own().change([{ path: ["acme", "word"], value: "again" }], { by })).toMatchObject({ reloaded: ["acme.word"] });
    await expect.poll(() => told.seen.at(-1)).toMatchObject({ count: 3 });
    told.stop = change;
    await kernel.stop({ drainSeconds: 0 });
    kernels.length = 0;
    expect(reports).toHaveLength(3);
    expect(text()).toContain('"count": 4');
  });
});

describe("without a kernel", () => {
  const fake = (settings?: Settings) =>
    createFakeContext(plugin("acme", "acme", ["settings"], { seen: [] }) as never, { config: { word: "x" }, ...(settings && { settings }) } as never);

  it("K30 the fake context keeps the section in memory by the same rules", async () => {
    const { settings } = fake();
    const { document, revision } = await settings.read();
    expect(document).toEqual({ acme: { word: "x" } });
    await settings.change([{ path: ["acme", "rows", { id: "a" }], value: { id: "a" } }], { by, expect: revision });
    expect((await settings.read()).document).toEqual({ acme: { word: "x", rows: [{ id: "a" }] } });
    await expect(settings.change([{ path: ["acme", "word"], value: "y" }], { by, expect: revision })).rejects.toThrow(code("SVC_CONFIG_CHANGED"));
    await expect(settings.change([{ path: ["other"], value: 1 }], { by })).rejects.toThrow(code("SVC_SETTINGS_SECTION"));
    await expect(settings.change([{ path: ["acme", "count"], value: 99 }], { by })).rejects.toThrow(code("SVC_CONFIG_INVALID"));
    await expect(settings.change([{ path: ["acme", "word"], value: "${X}" }], { by })).rejects.toThrow(code("SVC_CONFIG_REFERENCE"));
    await settings.change([{ path: ["acme", "rows", { id: "a" }] }, { path: ["acme", "word"] }], { by });
    expect((await settings.read()).document).toEqual({ acme: { rows: [] } });
  });
});
