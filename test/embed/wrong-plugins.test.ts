import { createKernel } from "@svc/kernel";
import { definePlugin, type Plugin } from "@svc/sdk";
import { describe, expect, it } from "vitest";
import { runKernel, temporaryFolder } from "../kit/kernel.ts";

const config = { node: { id: "n1", name: "Node 1" } };
const good = (more: object = {}) => ({ kind: "feature", name: "good", version: "1.0.0", svc: "^0.1.0", capabilities: [], setup() {}, ...more });
const NONE = "is no plugin made with definePlugin; packages and files are named in 'plugins' of the configuration.";

describe("plugins that a program hands to createKernel", () => {
  it.each([
    [null, NONE],
    ["svc-plugin-good", NONE],
    [5, NONE],
    [{ foo: 1 }, NONE],
    [good({ setup: "later" }), NONE],
    [good({ name: "Bad Name" }), "cannot be used: its name must be lower-case letters, digits and '-'."],
    [good({ capabilities: ["taks"] }), "cannot be used: its capabilities names 'taks', which is none; did you mean tasks?"],
    [good({ capabilities: undefined }), "cannot be used: its capabilities is missing; list the capabilities it uses, [] for none."],
  ])("AUT-B21 are looked at before anything else: %j", async (value, words) => {
    const created = createKernel({ config, folder: await temporaryFolder(), plugins: [good() as never, value as never] });
    await expect(created).rejects.toMatchObject({ code: "SVC_PLUGIN_VALUE", message: `plugins[1] of createKernel ${words}` });
  });

  it("AUT-A9 what setup returns, and a hook that there is not, are told by name", async () => {
    const failure = async (setup: (ctx: never) => unknown) => {
      const plugin = definePlugin({ ...good({ name: "wrong" }), setup } as never) as Plugin<never>;
      const { kernel } = await runKernel({ inline: [plugin] });
      return kernel.health().plugins.find(({ id }) => id === "feature-wrong")?.reason;
    };
    const may = "it may return an object with the functions start, reload and stop, or nothing.";
    expect(await failure(() => 5)).toContain(`Plugin feature-wrong: its setup returned a number; ${may}`);
    expect(await failure(() => ({ start: 5 }))).toContain(`its setup returned a number as start; ${may}`);
    expect(await failure(() => null)).toBeUndefined();
    expect(await failure((ctx: { hooks: { inbund: { tap(run: () => void): void } } }) => ctx.hooks.inbund.tap(() => {}))).toContain(
      "the hooks of ctx.hooks are inbound, route, assembleContext, dispatch, deliver and emit",
    );
  });
});
