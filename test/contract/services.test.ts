import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createKernel, type Kernel } from "@svc/kernel";
import { type Board, definePlugin, type Plugin, type PluginContext, type Services } from "@svc/sdk";
import { afterEach, expect, it } from "vitest";
import { temporaryFolder } from "../kit/kernel.ts";

declare module "@svc/sdk" {
  interface ServiceTypes {
    "test.notes": { readonly kind: string; add(text: string): Promise<number>; wait(): Promise<never>; fail(how: string): never; hostile(): Promise<never> };
  }
}

const section = (at: string) => ({ at, schema: { type: "object", additionalProperties: false, properties: { word: { type: "string" } } } }) as const;

/** Serves notes under its section's word; set up anew when that changes. */
const server = definePlugin<{ word?: string }>({
  kind: "feature",
  name: "server",
  version: "1.0.0",
  svc: "*",
  config: section("served"),
  capabilities: [],
  setup(ctx) {
    const notes: string[] = [];
    class Api {
      readonly kind = ctx.config.word ?? "first";
      #added = 0;
      async add(text: string) {
        notes.push(text);
        this.#added += 1;
        return this.#added;
      }
      wait() {
        return new Promise<never>(() => {});
      }
      hostile(): Promise<never> {
        return Promise.reject(
          new Proxy(
            {},
            {
              get() {
                throw new Error("the error bites");
              },
            },
          ),
        );
      }
      fail(how: string): never {
        throw Object.assign(new Error("it failed"), how === "coded" ? { code: "TEST_CODED" } : {});
      }
    }
    ctx.provide.service("test.notes", new Api());
    const board: Board = { name: "test", list: async () => [{ id: ctx.config.word ?? "first" } as never], get: async () => undefined };
    ctx.provide.board(board);
    ctx.provide.panel({ id: "test", title: "Test", place: "card", guard: "open", module: "/test.js" });
  },
});

const open: Kernel[] = [];
afterEach(async () => {
  for (const kernel of open.splice(0)) await kernel.stop({ drainSeconds: 0 });
});

async function running(served: boolean) {
  let ctx!: PluginContext;
  const asker = definePlugin({ kind: "feature", name: "asker", version: "1.0.0", svc: "*", capabilities: ["services"], setup: (own) => void (ctx = own) });
  const mute = definePlugin({ kind: "feature", name: "mute", version: "1.0.0", svc: "*", capabilities: [], setup: (own) => void (undeclared = own) });
  let undeclared!: PluginContext;
  const folder = await temporaryFolder();
  const file = join(folder, "svc.json");
  const rewrite = (config: object) =>
    writeFile(file, JSON.stringify({ node: { id: "n1", name: "N", bind: "127.0.0.1:0" }, agents: {}, ...config }), { mode: 0o600 });
  await rewrite(served ? { served: {} } : {});
  const kernel = await createKernel({ config: file, plugins: [asker, mute, server] as unknown as Plugin<never>[] });
  open.push(kernel);
  await kernel.start();
  const services: Services = ctx.services;
  const failures = () => kernel.health().plugins.find(({ id }) => id === "feature-server")?.failures;
  return { kernel, rewrite, services, failures, undeclared };
}

it("is asked by name, late: undefined while no plugin serves it, and then what is served", async () => {
  const { services, rewrite, kernel } = await running(false);
  expect([services.get("test.notes"), services.list("board")]).toEqual([undefined, []]);
  await rewrite({ served: {} });
  await kernel.reload();
  const notes = services.get("test.notes");
  expect([await notes?.add("a"), await notes?.add("b"), notes?.kind]).toEqual([1, 2, "first"]);
  expect(services.get("test.notes")).toBe(notes);
  expect(notes?.add).toBe(notes?.add);
  expect(() => Object.assign(notes as object, { kind: "other" })).toThrow(TypeError);
});

it("ends with its plugin: a reference that is kept throws with both plugins, a call under way rejects, and the next answer works", async () => {
  const { services, rewrite, kernel } = await running(true);
  const notes = services.get("test.notes");
  const [board] = services.list("board");
  const waiting = notes?.wait().catch((error: unknown) => error);
  await rewrite({ served: { word: "second" } });
  await kernel.reload();
  const gone = {
    code: "SVC_SERVICE_GONE",
    message: expect.stringMatching(/feature-asker holds the (service test\.notes|board test) of plugin feature-server/),
  };
  expect(await waiting).toMatchObject(gone);
  expect(() => notes?.kind).toThrow(expect.objectContaining(gone));
  expect(() => notes?.add("c")).toThrow(expect.objectContaining(gone));
  expect(() => board?.list({}, AbortSignal.timeout(1_000))).toThrow(expect.objectContaining(gone));
  expect([services.get("test.notes")?.kind, await services.list("board")[0]?.list({}, AbortSignal.timeout(1_000))]).toEqual(["second", [{ id: "second" }]]);
});

it("counts what throws without a code against the plugin that serves, and hands the error on", async () => {
  const { services, failures } = await running(true);
  const notes = services.get("test.notes");
  expect(() => notes?.fail("coded")).toThrow(expect.objectContaining({ code: "TEST_CODED" }));
  expect(failures()).toBe(0);
  expect(() => notes?.fail("plain")).toThrow("it failed");
  expect(failures()).toBe(1);
});

it("lists boards and panels, and nothing that is not shared; without the capability there is none of it", async () => {
  const { services, undeclared } = await running(true);
  expect(services.list("panel").map(({ id, title }) => [id, title])).toEqual([["test", "Test"]]);
  for (const kind of ["authority", "channel", "toString"])
    expect(() => services.list(kind as never)).toThrow(expect.objectContaining({ code: "SVC_SERVICE_KIND" }));
  expect(() => undeclared.services).toThrow(expect.objectContaining({ code: "SVC_CAPABILITY_UNDECLARED" }));
});

it("a rejection that cannot be looked at reaches the caller, and counts against the plugin that serves", async () => {
  const { services, failures } = await running(true);
  const notes = services.get("test.notes");
  expect(
    await notes?.hostile().then(
      () => "answered",
      () => "rejected",
    ),
  ).toBe("rejected");
  await expect.poll(failures).toBe(1);
});
