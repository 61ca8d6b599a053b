import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createKernel, integrityOf, observe, type Pins, resolveEntry } from "@svc/kernel";
import type { Provide } from "@svc/sdk";
import { afterEach, describe, expect, it } from "vitest";
import { temporaryFolder } from "../kit/kernel.ts";

/** One way to provide each thing that there is, and the kind under which an operator is shown it. */
const PROVIDES: Readonly<Record<keyof Provide, { readonly call: string; readonly kinds: readonly string[] }>> = {
  channel: {
    call: `ctx.provide.channel({ name: "x", traits: { maxChars: 9, unit: "utf8", dialect: "plain" }, send: async () => ({ platformId: "1" }) })`,
    kinds: ["channel"],
  },
  tier: { call: `ctx.provide.tier({ name: "x", run: async function* () {} })`, kinds: ["tier"] },
  action: {
    call: `ctx.provide.action({ name: "x.y", description: "x", timeoutMs: 1000, input: { type: "object" }, output: {}, run: async () => 1 })`,
    kinds: ["action"],
  },
  route: { call: `ctx.provide.route({ method: "GET", path: "/x", guard: "open", handle: () => 1 })`, kinds: ["route open"] },
  server: {
    call: `ctx.provide.server({ name: "x", host: "127.0.0.1", port: 0, localScopes: ["dashboard:read"] })`,
    kinds: ["server", "server granting dashboard:read"],
  },
  authority: { call: `ctx.provide.authority({ name: "x", verify: async () => undefined })`, kinds: ["authority"] },
  tool: { call: `ctx.provide.tool({ name: "x", description: "x", input: { type: "object" }, run: async () => "x" })`, kinds: ["tool"] },
  store: { call: `ctx.provide.store({ name: "x", open: () => ({ scope: () => ({}) }) })`, kinds: ["store"] },
  board: { call: `ctx.provide.board({ name: "x", list: async () => [], get: async () => undefined })`, kinds: ["board"] },
  toolset: { call: `ctx.provide.toolset({ name: "x", tools: () => [] })`, kinds: ["toolset"] },
  service: { call: `ctx.provide.service("acme.notes", {})`, kinds: ["service"] },
  panel: {
    call: `ctx.provide.panel({ id: "x", title: "X", place: "card", guard: "scope:dashboard:read", module: "/x.js" })`,
    kinds: ["panel scope:dashboard:read"],
  },
  files: { call: `ctx.provide.files({ prefix: "/x", folder: "ui", guard: "open" })`, kinds: ["files open"] },
};

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** An installed plugin that does nothing when it is looked at, and `later` in a daemon. */
async function install(folder: string, later: string): Promise<string> {
  const home = join(folder, ".svc/node_modules/svc-plugin-turn");
  await mkdir(home, { recursive: true });
  const svc = { api: 1, kind: "feature", name: "turn", entry: "./index.mjs", activate: "always", capabilities: ["routes"] };
  await writeFile(join(home, "package.json"), JSON.stringify({ name: "svc-plugin-turn", version: "1.0.0", type: "module", svc }));
  await writeFile(
    join(home, "index.mjs"),
    `export default { kind: "feature", name: "turn", version: "1.0.0", svc: "*", capabilities: ["routes"],
      setup(ctx) { if (ctx.node.id !== "observed") { ${later}; } } };`,
  );
  return home;
}

describe("a plugin that registers what it did not when it was trusted", () => {
  it.each(Object.entries(PROVIDES))("is refused, and says what is new: %s", async (_kind, { call, kinds }) => {
    const folder = await temporaryFolder();
    const home = await install(folder, call);
    const observed = await observe({ ...resolveEntry(home, "/", []), from: "package" });
    expect(observed.registers).toEqual([]);
    const start = async (registers: readonly string[]) => {
      const pins: Pins = {
        "svc-plugin-turn": {
          id: "feature-turn",
          version: "1.0.0",
          integrity: await integrityOf(home),
          capabilities: observed.capabilities,
          registers,
          trustedAt: new Date().toISOString(),
        },
      };
      await writeFile(join(folder, ".svc/plugins.lock.json"), JSON.stringify(pins));
      const file = join(folder, "svc.json");
      await writeFile(file, JSON.stringify({ node: { id: "n", name: "N" }, agents: {}, plugins: ["svc-plugin-turn"] }), { mode: 0o600 });
      const kernel = await createKernel({ config: file, listen: false });
      closers.push(() => kernel.stop({ drainSeconds: 0 }));
      await kernel.start();
      const found = kernel.health().plugins.find(({ id }) => id === "feature-turn");
      await closers.pop()?.();
      return found;
    };
    expect(await start(observed.registers)).toMatchObject({
      state: "failed",
      reason: expect.stringContaining(`it now also has ${kinds.join(", ")}, which is`),
    });
    expect(await start(kinds)).toMatchObject({ state: "running" });
  });
});
