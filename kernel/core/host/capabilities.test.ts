import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it, vi } from "vitest";
import { openStore } from "../../../test/kit/store.ts";
import { createLog } from "../../base/log.ts";
import { stateStore } from "../../base/state-store.ts";
import { LIBRARIES } from "../../capabilities/libraries.ts";
import { type Capabilities, type CoreDeps, createCapabilities } from "./capabilities.ts";
import { pluginScope } from "./context.ts";
import { createScope, disposeScope } from "./scope.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const silent = createLog({ destination: "none", secrets: () => [] });

async function spawning(): Promise<{ capabilities: Capabilities; close: () => Promise<void> }> {
  const store = stateStore(openStore({ file: ":memory:", log: silent }));
  const deps = {
    env: process.env,
    log: silent,
    store: store.scope("core"),
    files: { folder: ".", dataFolder: `.svc-${process.pid}` },
    config: () => ({}),
  };
  const capabilities = createCapabilities(LIBRARIES, deps, {} as CoreDeps);
  await capabilities.ensure(["spawn"]);
  return {
    capabilities,
    close: async () => {
      await capabilities.close();
      await store.close();
    },
  };
}

it("keeps nothing of a plugin that has ended, however often it is set up again", async () => {
  const { capabilities, close } = await spawning();
  const reload = () => {
    const scope = createScope("feature-x", () => {});
    const spawn = new WeakRef(
      capabilities.make(
        "spawn",
        pluginScope(scope, () => {}),
      ),
    );
    disposeScope(scope);
    return spawn;
  };
  const ended = Array.from({ length: 20 }, reload);
  await vi.waitFor(() => {
    collectGarbage();
    expect(ended.filter((spawn) => spawn.deref() !== undefined)).toEqual([]);
  });
  await close();
});

it("waits at its close for the children of plugins that are ending, and lets none start after", async () => {
  const { capabilities, close } = await spawning();
  const scope = createScope("feature-x", () => {});
  const spawn = capabilities.make(
    "spawn",
    pluginScope(scope, () => {}),
  );
  const child = spawn("sleep", ["60"], { cwd: "/" });
  await child.started;
  disposeScope(scope);
  const late = spawn("sleep", ["60"], { cwd: "/" });
  await expect(late.started).rejects.toMatchObject({ code: "SVC_SPAWN_FAILED" });
  await close();
  expect(() => process.kill(child.pid, 0)).toThrow("ESRCH");
});
