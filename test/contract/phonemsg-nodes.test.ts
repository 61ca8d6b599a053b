import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Lease, Store } from "@svc/sdk";
import { createMemoryStore } from "@svc/sdk/testing";
import { afterEach, expect, it } from "vitest";
import { lacking } from "../kit/phonemsg/library.ts";
import { copySession, type Stage, setStage, until } from "./phonemsg.harness.ts";

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

/** Leases of several daemons; `lose` is what happens to one that is cut off. */
function createLeases() {
  const held = new Map<string, { readonly node: string; readonly cut: AbortController }>();
  const lease = async (node: string, name: string): Promise<Lease> => {
    const other = held.get(name);
    if (other !== undefined && other.node !== node) return { held: false, holder: other.node, signal: AbortSignal.abort(), release: async () => {} };
    const cut = new AbortController();
    held.set(name, { node, cut });
    return { held: true, signal: cut.signal, release: async () => void (held.get(name)?.cut === cut && held.delete(name)) };
  };
  return {
    storeOf: (node: string): Store => ({ ...createMemoryStore(), lease: (name) => lease(node, name) }),
    lose(to: string) {
      for (const [name, { cut }] of held) {
        held.set(name, { node: to, cut: new AbortController() });
        cut.abort(new Error("the database was not heard of for too long"));
      }
    },
  };
}

const folderOf = () => {
  const folder = mkdtempSync(join(tmpdir(), "phonemsg-"));
  undo.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};
const reasonOf = ({ context }: Stage) => context.registered.channels[0]?.reason;
const texts = ({ context }: Stage) => context.tasks.accepted.map(({ text }) => text);

it.skipIf(lacking)(
  "of two daemons with one linked device one is connected and the other stands by; it moves when that one is cut off",
  { timeout: 60_000 },
  async () => {
    const leases = createLeases();
    const [here, there] = [folderOf(), folderOf()];
    const one = await setStage({ folder: here, store: leases.storeOf("n1") });
    undo.push(() => one.far.close());
    await one.start();
    await one.halfStop();
    copySession(here, there);
    const { far, friend } = one;
    await one.start();
    const before = far.connections;
    const two = await setStage({ folder: there, far, store: leases.storeOf("n2"), linked: false });
    await two.start();
    await until(() => reasonOf(two) === "standby, node n1 has it");
    expect([one.state(), two.state(), far.connections - before]).toEqual(["ready", "down", 0]);
    await far.say({ from: friend, text: "to the first" });
    await until(() => texts(one).includes("to the first"));

    leases.lose("n2");
    await until(() => two.state() === "ready");
    await until(() => reasonOf(one) === "standby, node n2 has it");
    await far.say({ from: friend, text: "to the second" });
    await until(() => texts(two).includes("to the second"));
    expect(texts(one)).toEqual(["to the first"]);
    expect([one.state(), two.state(), far.connections - before]).toEqual(["down", "ready", 1]);
    await two.halfStop();
    await one.halfStop();
  },
);
