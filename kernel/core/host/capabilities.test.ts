import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it, vi } from "vitest";
import { openStore } from "../../../test/kit/store.ts";
import { createLog } from "../../base/log.ts";
import { PARTS } from "../../create-kernel.ts";
import { createLender, type Lender } from "./capabilities.ts";
import { createScope, disposeScope } from "./scope.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const silent = createLog({ destination: "none", secrets: () => [] });

async function spawning(): Promise<{ lender: Lender; close: () => Promise<void> }> {
  const store = openStore({ file: ":memory:", log: silent });
  const lender = createLender({
    libraries: PARTS.capabilities,
    env: process.env,
    log: silent,
    core: store.scope("core"),
    protected: { folder: ".", dataFolder: ".svc" },
    marker: "services-test",
    processPool: () => ({ maxIdleSeconds: 1, maxAgeSeconds: 1, sweepIntervalSeconds: 1 }),
    providers: () => ({}),
    agent: () => undefined,
  });
  await lender.ensure(["spawn"]);
  return {
    lender,
    close: async () => {
      await lender.close();
      await store.close();
    },
  };
}

it("keeps nothing of a plugin that has ended, however often it is set up again", async () => {
  const { lender, close } = await spawning();
  const reload = () => {
    const scope = createScope("feature-x", () => {});
    const spawn = new WeakRef(lender.spawn(scope));
    disposeScope(scope);
    return spawn;
  };
  const lent = Array.from({ length: 20 }, reload);
  await vi.waitFor(() => {
    collectGarbage();
    expect(lent.filter((spawn) => spawn.deref() !== undefined)).toEqual([]);
  });
  await close();
});

it("waits at its close for the children of plugins that are ending, and lets none start after", async () => {
  const { lender, close } = await spawning();
  const scope = createScope("feature-x", () => {});
  const spawn = lender.spawn(scope);
  const child = spawn("sleep", ["60"], { cwd: "/" });
  await child.started;
  disposeScope(scope);
  const late = spawn("sleep", ["60"], { cwd: "/" });
  await expect(late.started).rejects.toMatchObject({ code: "SVC_SPAWN_FAILED" });
  await close();
  expect(() => process.kill(child.pid, 0)).toThrow("ESRCH");
});
