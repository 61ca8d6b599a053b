import { describe, expect, it } from "vitest";
import { type FolderToShare, shareFiles } from "./shared-files.ts";
import { createMemoryFiles, createMemoryStore } from "./testing.ts";

const row = (text: string) => ({ text, by: "x" });

/** The side of one daemon: a folder in memory, which may be gone. */
function side(store: ReturnType<typeof createMemoryStore>, node: string, given: Record<string, string> = {}, own = createMemoryFiles().own) {
  let files: Map<string, string> | undefined = new Map(Object.entries(given));
  let writes = 0;
  const marks = new Map<string, number>();
  const set = (name: string, text: string) => {
    files ??= new Map();
    files.set(name, text);
    writes += 1;
    marks.set(name, writes);
  };
  const told: string[] = [];
  const held = new Set<string>();
  const folder: FolderToShare = {
    list: async () =>
      files && [...files.keys()].filter((name) => !name.includes("~")).map((name) => ({ name, mark: `${marks.get(name)}`, held: held.has(name) })),
    read: async (name) => files?.get(name),
    async change(name, edit) {
      const text = await edit(files?.get(name));
      if (text !== undefined) set(name, text);
    },
    remove: async (name) => void files?.delete(name),
    async setAside(name, text) {
      set(`${name}~`, text);
      return `${name}~`;
    },
  };
  const open = () =>
    shareFiles({
      store,
      collection: "files",
      folder,
      own,
      node,
      fits: (name) => /^[a-z]+$/.test(name),
      conflict: ({ name, by, aside }) => told.push(`${name} of ${by}, ${aside}`),
      failed: (name, reason) => told.push(`${name}: ${reason}`),
    });
  return {
    ...open(),
    open,
    own,
    set,
    told,
    held,
    unset: (name: string) => void files?.delete(name),
    lose: () => {
      files = undefined;
    },
    all: () => Object.fromEntries(files ?? []),
  };
}

describe("shareFiles", () => {
  it("hands over what one has, changes and removes, and answers whether files were written here", async () => {
    const store = createMemoryStore();
    const [a, b] = [side(store, "n1", { one: "1" }), side(store, "n2", { two: "2" })];
    expect([await a.sync(), await b.sync(), await a.sync(), await b.sync()]).toEqual([false, true, true, false]);
    expect([a.all(), b.all()]).toEqual([a.all(), { one: "1", two: "2" }]);
    b.set("one", "1b");
    a.unset("two");
    await b.sync();
    await a.sync();
    await b.sync();
    expect([a.all(), b.all()]).toEqual([{ one: "1b" }, { one: "1b" }]);
    expect([a.told, b.told]).toEqual([[], []]);
  });

  it("what differs from the start, or was changed on both sides, is set aside where it loses, and told", async () => {
    const store = createMemoryStore();
    const [a, b] = [side(store, "n1", { one: "a" }), side(store, "n2", { one: "b" })];
    await a.sync();
    await b.sync();
    expect([b.all(), b.told]).toEqual([{ one: "a", "one~": "b" }, ["one of n1, one~"]]);
    a.set("one", "a2");
    b.set("one", "b2");
    await b.sync();
    await a.sync();
    expect([a.all(), a.told]).toEqual([{ one: "b2", "one~": "a2" }, ["one of n2, one~"]]);
    // One that has removed it gets it back: the other has changed it since.
    a.unset("one");
    b.set("one", "b3");
    await b.sync();
    await a.sync();
    expect(a.all()).toMatchObject({ one: "b3" });
  });

  it("a change is made here and in the store as one: who was not first writes nothing and is told", async () => {
    const store = createMemoryStore();
    const [a, b] = [side(store, "n1", { one: "1" }), side(store, "n2")];
    await a.sync();
    await b.sync();
    await a.change("one", (before) => `${before}a`);
    // What b changes is what a has made of it.
    await b.change("one", (before) => `${before}b`);
    expect(b.all()).toEqual({ one: "1ab" });
    // A third daemon is first while the change is made.
    const lost = a.change("one", async (before) => {
      await b.change("one", (now) => `${now}!`);
      return `${before}?`;
    });
    await expect(lost).rejects.toMatchObject({ code: "SVC_STORE_CONFLICT" });
    await a.sync();
    expect([a.all(), b.all()]).toEqual([{ one: "1ab!" }, { one: "1ab!" }]);
    await a.remove("one");
    await b.sync();
    expect([a.all(), b.all()]).toEqual([{}, {}]);
    await b.change("one", (before) => `new ${before}`);
    await a.sync();
    expect(a.all()).toEqual({ one: "new undefined" });
  });

  it("goes on after a restart from what it has noted; a folder that is gone is filled again and removes nothing", async () => {
    const store = createMemoryStore();
    const [a, b] = [side(store, "n1", { one: "1", two: "2" }), side(store, "n2")];
    await a.sync();
    await b.sync();
    a.unset("two");
    await a.open().sync();
    await b.open().sync();
    expect(b.all()).toEqual({ one: "1" });
    b.lose();
    expect(await b.open().sync()).toBe(true);
    await a.sync();
    expect([a.all(), b.all()]).toEqual([{ one: "1" }, { one: "1" }]);
  });

  it("a store from before, and one that is new, cost nothing that is newer here", async () => {
    const store = createMemoryStore();
    const a = side(store, "n1", { one: "1" });
    await a.sync();
    await a.change("one", () => "2");
    const older = createMemoryStore();
    const back = side(older, "n9", { one: "1" });
    await back.sync();
    // The folder and its notes are newer than the store that came back.
    const moved = side(older, "n1", { one: "2" }, a.own);
    await moved.sync();
    expect(moved.all()).toEqual({ one: "1", "one~": "2" });
    const fresh = side(createMemoryStore(), "n1", { one: "2" }, a.own);
    await fresh.sync();
    expect([fresh.all(), fresh.told]).toEqual([{ one: "2" }, []]);
  });

  it("a file that is held is neither handed over nor taken for removed; a name that does not fit is not written", async () => {
    const store = createMemoryStore();
    const [a, b] = [side(store, "n1", { one: "1" }), side(store, "n2")];
    await a.sync();
    await b.sync();
    a.held.add("one");
    a.set("one", "written by somebody");
    await store.collection("files").put("../etc", row("x"));
    await a.sync();
    await b.sync();
    expect([a.all(), b.all()]).toEqual([{ one: "written by somebody" }, { one: "1" }]);
  });
});
