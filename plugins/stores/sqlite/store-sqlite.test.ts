import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ProvidedStore } from "@svc/sdk";
import { createFakeContext } from "@svc/sdk/testing";
import { afterEach, beforeEach, expect, it } from "vitest";
import plugin from "./index.ts";

let folder: string;
let store: ProvidedStore;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-sqlite-"));
  const ctx = createFakeContext(plugin);
  plugin.setup(ctx);
  store = ctx.registered.stores[0] as ProvidedStore;
});
afterEach(() => rm(folder, { recursive: true }));

const opened = (place: string | undefined) => store.open({ folder: place, now: Date.now });

it("keeps the state in svc.db of the data folder, with files of no other name", async () => {
  const driver = await opened(folder);
  await driver.scope("core").collection("tasks").put("a", 1);
  expect((await readdir(folder)).filter((name) => !store.files?.includes(name))).toEqual([]);
  expect(driver.diskBytes?.()).toBeGreaterThan(0);
  await driver.close?.();
  const again = await opened(folder);
  expect(await again.scope("core").collection("tasks").get("a")).toMatchObject({ value: 1 });
  await again.close?.();
});

it("keeps nothing anywhere without a folder", async () => {
  const driver = await opened(undefined);
  await driver.scope("core").collection("tasks").put("a", 1);
  expect(driver.diskBytes?.()).toBeUndefined();
  await driver.close?.();
  const again = await opened(undefined);
  expect(await again.scope("core").collection("tasks").get("a")).toBeUndefined();
  await again.close?.();
});

it("checks what is there, and has nothing to say of a folder without a database", async () => {
  expect(await store.check?.({ folder })).toBeUndefined();
  await (await opened(folder)).close?.();
  expect(await store.check?.({ folder, quick: true })).toEqual({ file: join(folder, "svc.db"), problems: [] });
  await writeFile(join(folder, "svc.db"), "no database at all, but long enough to be looked at ".repeat(100));
  expect((await store.check?.({ folder }))?.problems).toEqual([expect.stringContaining("not a database")]);
});

it("copies the state of an open database into another folder, from which an open goes on", async () => {
  const to = join(folder, "copy");
  await mkdir(to);
  await store.backup?.({ folder, to });
  expect(await readdir(to)).toEqual([]);
  const driver = await opened(folder);
  await driver.scope("core").collection("tasks").put("a", 1);
  await store.backup?.({ folder, to });
  await driver.close?.();
  const copy = await opened(to);
  expect(await copy.scope("core").collection("tasks").get("a")).toMatchObject({ value: 1 });
  await copy.close?.();
});
