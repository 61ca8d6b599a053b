import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Confined } from "@svc/sdk";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ProtectedDeps } from "../../base/protected-files.ts";
import { createFiles, createFolder } from "./files.ts";

let base: string;
let root: string;
let outside: string;
let files: Confined;
let deps: ProtectedDeps;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "svc-files-"));
  root = join(base, "root");
  outside = join(base, "outside");
  for (const folder of [root, outside, join(base, "root-evil"), join(root, "sub")]) mkdirSync(folder);
  for (const folder of [root, outside, join(base, "root-evil")]) writeFileSync(join(folder, "secret"), `secret of ${folder}`);
  deps = { folder: join(base, "daemon"), configFile: join(base, "daemon", "svc.json"), dataFolder: join(base, "daemon", ".svc") };
  files = createFiles({ own: join(base, "own"), deps }).under(root);
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();
const code = (work: Promise<unknown>) =>
  work.then(
    () => "allowed",
    (error) => error.code as string,
  );
const everyWay = (path: string): (readonly [string, () => Promise<unknown>])[] => [
  ["read", () => files.read(path, 100)],
  ["write", () => files.write(path, "changed")],
  ["append", () => files.append(path, "changed")],
  ["change", () => files.change(path, 100, () => "changed")],
  ["list", () => files.list(path)],
  ["resolve", () => files.resolve(path)],
  ["remove", () => files.remove(path)],
];

/** Nothing outside was changed, whatever was tried. */
function outsideUntouched(): void {
  for (const folder of [outside, join(base, "root-evil")]) {
    expect(readdirSync(folder)).toEqual(["secret"]);
    expect(readFileSync(join(folder, "secret"), "utf8")).toBe(`secret of ${folder}`);
  }
}

describe("confinement", () => {
  it.each([
    ["..", "../outside/secret"],
    [".. behind a folder", "sub/../../outside/secret"],
    [".. that would stay inside", "sub/../secret"],
    ["only ..", ".."],
    ["an encoded ..", "%2e%2e/outside/secret"],
    ["an encoded slash", "..%2Foutside%2Fsecret"],
    ["a half encoded ..", ".%2e/outside/secret"],
    ["a backslash", "..\\outside\\secret"],
    ["NUL", "secret\0.txt"],
    ["an encoded NUL", "secret%00.txt"],
    ["an absolute path", "/etc/passwd"],
    ["an absolute path to nothing", "/no/such/place"],
    ["the parent of the root", "BASE"],
    ["a sibling", "BASE/outside/secret"],
    ["a sibling with the same beginning", "BASE/root-evil/secret"],
  ])("ACT-03 FAULT-50 refuses %s in every way", async (_, spelled) => {
    const path = spelled.replace("BASE", base);
    for (const [way, run] of everyWay(path)) expect([way, await code(run())]).toEqual([way, "SVC_FILE_OUTSIDE"]);
    outsideUntouched();
  });

  it("ACT-03 FAULT-51 refuses links inside that lead out: to a file, a folder, through a chain, to nothing", async () => {
    symlinkSync(join(outside, "secret"), join(root, "file"));
    symlinkSync(outside, join(root, "folder"));
    symlinkSync("folder", join(root, "chain"));
    symlinkSync(join(outside, "new"), join(root, "nothing"));
    symlinkSync("loop", join(root, "loop"));
    for (const path of ["file", "folder/secret", "folder/new", "folder/new/deeper", "chain/secret", "nothing", "nothing/deeper", "loop"]) {
      for (const [way, run] of everyWay(path)) {
        if (way === "remove" && !path.includes("/")) continue;
        expect([path, way, await code(run())]).toEqual([path, way, "SVC_FILE_OUTSIDE"]);
      }
    }
    outsideUntouched();
  });

  it("removes a link itself and not what it leads to", async () => {
    symlinkSync(join(outside, "secret"), join(root, "file"));
    await files.remove("file");
    expect(existsSync(join(root, "file"))).toBe(false);
    outsideUntouched();
  });

  it("ACT-03 follows a link that stays inside for reading, and never a link at the place of a new file", async () => {
    symlinkSync("sub", join(root, "inner"));
    await files.write("inner/a", "1");
    expect(readFileSync(join(root, "sub", "a"), "utf8")).toBe("1");
    symlinkSync("sub/a", join(root, "leaf"));
    expect(text(await files.read("leaf", 10))).toBe("1");
    expect(await files.resolve("leaf")).toBe(join(root, "sub", "a"));
    expect(await code(files.write("leaf", "2"))).toBe("SVC_FILE_OUTSIDE");
    expect(await code(files.append("leaf", "2"))).toBe("SVC_FILE_OUTSIDE");
    expect(readFileSync(join(root, "sub", "a"), "utf8")).toBe("1");
  });

  it("FAULT-51 refuses to read or append to a file that has a second name", async () => {
    linkSync(join(outside, "secret"), join(root, "hard"));
    expect(await code(files.read("hard", 1000))).toBe("SVC_FILE_LINKED");
    expect(await code(files.append("hard", "x"))).toBe("SVC_FILE_LINKED");
    await files.write("hard", "new");
    expect(readFileSync(join(root, "hard"), "utf8")).toBe("new");
    outsideUntouched();
  });

  it("FAULT-51 never reaches outside while a folder is swapped for a link, over many tries", async () => {
    const swapped = join(root, "swapped");
    const aside = join(root, "aside");
    mkdirSync(swapped);
    writeFileSync(join(swapped, "secret"), "inside");
    let going = true;
    /** Of changing number, lest reader and swapper fall into step. */
    const someTurns = async () => {
      for (let left = Math.random() * 6; left > 0; left--) await new Promise((resolve) => setImmediate(resolve));
    };
    const swapper = (async () => {
      while (going) {
        renameSync(swapped, aside);
        // A write under way may have made the folder anew meanwhile.
        rmSync(swapped, { recursive: true, force: true });
        try {
          symlinkSync(outside, swapped);
        } catch {
          rmSync(swapped, { recursive: true, force: true });
          symlinkSync(outside, swapped);
        }
        await someTurns();
        unlinkSync(swapped);
        // So may this one have been made anew.
        rmSync(swapped, { recursive: true, force: true });
        renameSync(aside, swapped);
        await someTurns();
      }
    })();
    const outcomes = new Map<string, number>();
    const note = (name: string) => outcomes.set(name, (outcomes.get(name) ?? 0) + 1);
    const both = () => outcomes.has("inside") && outcomes.has("SVC_FILE_OUTSIDE");
    for (let round = 0; round < 400 || !both(); round++) {
      await files.read("swapped/secret", 1000).then(
        (bytes) => note(text(bytes)),
        (error) => note(error.code),
      );
      await files.append("swapped/log", "x").then(
        () => note("appended"),
        (error) => note(error.code),
      );
      await files.write("swapped/new/file", "x").then(
        () => note("written"),
        (error) => note(error.code),
      );
    }
    going = false;
    await swapper;
    expect([...outcomes.keys()].filter((name) => name.includes("secret"))).toEqual([]);
    outsideUntouched();
  });

  it("takes absolute paths and relative ones below several roots, and roots that are links", async () => {
    const second = join(base, "second");
    mkdirSync(second);
    symlinkSync(root, join(base, "link"));
    const both = createFiles({ own: join(base, "own"), deps }).under(join(base, "link"), second);
    await both.write("a", "first");
    await both.write(join(second, "b"), "second");
    await both.write(join(root, "c"), "by its real name");
    expect(text(await both.read(join(base, "link", "a"), 10))).toBe("first");
    expect(readFileSync(join(second, "b"), "utf8")).toBe("second");
    expect(await both.resolve("c")).toBe(join(root, "c"));
    expect(await code(both.read(join(outside, "secret"), 100))).toBe("SVC_FILE_OUTSIDE");
  });

  it("ACT-03 starts relative roots at the daemon's folder, wherever the process was started", async () => {
    mkdirSync(join(deps.folder, "notes"), { recursive: true });
    const { under } = createFiles({ own: join(base, "own"), deps });
    expect(under(".", "notes", root).roots).toEqual([deps.folder, join(deps.folder, "notes"), root]);
    await under("notes").write("a", "mine");
    expect(text(await under(".").read("notes/a", 10))).toBe("mine");
    expect(await code(under(".").read(join(process.cwd(), "package.json"), 100))).toBe("SVC_FILE_OUTSIDE");
  });

  it("allows nothing without a root and names a root that is missing", async () => {
    const { under } = createFiles({ own: join(base, "own"), deps });
    expect(await code(under().read("secret", 10))).toBe("SVC_FILE_OUTSIDE");
    await expect(under(join(base, "gone")).read("a", 10)).rejects.toMatchObject({ code: "SVC_FILE_MISSING", message: expect.stringContaining("gone") });
  });
});

describe("reading and writing", () => {
  it("reads up to the limit and refuses above it", async () => {
    writeFileSync(join(root, "ten"), "0123456789");
    expect(text(await files.read("ten", 10))).toBe("0123456789");
    await expect(files.read("ten", 9)).rejects.toMatchObject({ code: "SVC_FILE_TOO_LARGE", status: 413 });
    writeFileSync(join(root, "empty"), "");
    expect(await files.read("empty", 0)).toHaveLength(0);
  });

  it("tells what is missing and what is no regular file, and does not hang on a pipe", async () => {
    execFileSync("mkfifo", [join(root, "pipe")]);
    expect(await code(files.read("gone", 10))).toBe("SVC_FILE_MISSING");
    expect(await code(files.read("sub", 10))).toBe("SVC_FILE_KIND");
    expect(await code(files.read("pipe", 10))).toBe("SVC_FILE_KIND");
    expect(await code(files.append("pipe", "x"))).toBe("SVC_FILE_KIND");
    expect(await code(files.write("pipe", "x"))).toBe("SVC_FILE_KIND");
    expect(await code(files.write("sub", "x"))).toBe("SVC_FILE_KIND");
    expect(await code(files.write(".", "x"))).toBe("SVC_FILE_KIND");
    expect(await code(files.list("secret"))).toBe("SVC_FILE_KIND");
    expect(await code(files.list("gone"))).toBe("SVC_FILE_MISSING");
  });

  it("replaces a file as a whole, keeps its mode, makes folders, and leaves nothing else", async () => {
    writeFileSync(join(root, "run.sh"), "old");
    chmodSync(join(root, "run.sh"), 0o755);
    await files.write("run.sh", "new");
    await files.write("a/b/c", new Uint8Array([1, 2, 3]));
    expect(statSync(join(root, "run.sh")).mode & 0o777).toBe(0o755);
    expect([...readFileSync(join(root, "a/b/c"))]).toEqual([1, 2, 3]);
    expect(statSync(join(root, "a/b/c")).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(root, "a/b"))).toEqual(["c"]);
  });

  it("ACT-05 appends parallel records in the order of the calls, none torn", async () => {
    const records = Array.from({ length: 200 }, (_, at) => `${JSON.stringify({ at, filler: "é".repeat(at * 7) })}\n`);
    await Promise.all(records.map((record) => files.append("log/records.jsonl", record)));
    expect(readFileSync(join(root, "log/records.jsonl"), "utf8")).toBe(records.join(""));
  });

  it("goes on appending after one append failed", async () => {
    mkdirSync(join(root, "log"));
    const failing = files.append("log", "x");
    const second = files.append("log", "x");
    expect([await code(failing), await code(second)]).toEqual(["SVC_FILE_KIND", "SVC_FILE_KIND"]);
    rmSync(join(root, "log"), { recursive: true });
    await files.append("log", "x");
    expect(readFileSync(join(root, "log"), "utf8")).toBe("x");
  });

  it("changes a file as one step, though several parts of the daemon do it at once", async () => {
    const instances = [files, createFiles({ own: join(base, "own"), deps }).under(root), createFolder(base)];
    const add = (folder: Confined, path: string) =>
      folder.change(path, 100, async (before) => {
        await new Promise((resolve) => setImmediate(resolve));
        return String(Number(before === undefined ? 0 : text(before)) + 1);
      });
    await Promise.all(Array.from({ length: 30 }, (_, at) => add(instances[at % 3] as Confined, at % 3 === 2 ? "root/count" : "count")));
    expect(readFileSync(join(root, "count"), "utf8")).toBe("30");
    expect(readdirSync(root).sort()).toEqual(["count", "secret", "sub"]);
  });

  it("leaves a file as it is when the change says nothing or fails, and lets the next one through", async () => {
    const failing = files.change("secret", 1000, () => Promise.reject(new Error("no")));
    await expect(failing).rejects.toThrow("no");
    await files.change("secret", 1000, () => undefined);
    expect(await code(files.change("secret", 3, () => "x"))).toBe("SVC_FILE_TOO_LARGE");
    expect(readFileSync(join(root, "secret"), "utf8")).toBe(`secret of ${root}`);
    await files.change("secret", 1000, (before) => `${text(before as Uint8Array)}!`);
    expect(readFileSync(join(root, "secret"), "utf8")).toBe(`secret of ${root}!`);
  });

  it("lists by name with kind and size, without following links", async () => {
    symlinkSync(outside, join(root, "away"));
    const listed = await files.list(".");
    expect(listed.map(({ name, kind }) => [name, kind])).toEqual([
      ["away", "other"],
      ["secret", "file"],
      ["sub", "folder"],
    ]);
    expect(listed[1]).toMatchObject({ size: statSync(join(root, "secret")).size, mtimeMs: statSync(join(root, "secret")).mtimeMs });
  });

  it("removes a file and an empty folder, is content when it is gone, and keeps a full folder and the root", async () => {
    await files.remove("sub");
    await files.remove("secret");
    await files.remove("secret");
    await files.remove("no/such/folder");
    await files.write("full/a", "");
    expect(await code(files.remove("full"))).toBe("SVC_FILE_FAILED");
    expect(await code(files.remove("."))).toBe("SVC_FILE_KIND");
    expect(readdirSync(root)).toEqual(["full"]);
  });

  it("resolves a file that does not exist yet", async () => {
    expect(await files.resolve("new/file")).toBe(join(root, "new/file"));
    expect(existsSync(join(root, "new"))).toBe(false);
  });
});

describe("the plugin's own folder", () => {
  it("is made for its owner only when it is first used", async () => {
    const { own, data } = createFiles({ own: join(base, "data", "plugin"), deps: { folder: base, dataFolder: join(base, "data") } });
    expect(existsSync(join(base, "data"))).toBe(false);
    expect(await own.list(".")).toEqual([]);
    expect(statSync(join(base, "data", "plugin")).mode & 0o777).toBe(0o700);
    await own.write("state.json", "{}");
    expect(statSync(join(base, "data", "plugin", "state.json")).mode & 0o777).toBe(0o600);
    rmSync(join(base, "data"), { recursive: true });
    await own.append("log", "again");
    expect(text(await own.read("log", 10))).toBe("again");
    expect(text(await data.read("plugin/log", 10))).toBe("again");
  });
});

it("many writers that make the same folders at the same moment hinder nobody", async () => {
  for (let round = 0; round < 20; round += 1) {
    const paths = Array.from({ length: 24 }, (_, at) => `round-${round}/a/b/${at % 4}/${at}.txt`);
    await Promise.all(
      paths.map(async (path, at) => {
        for (let wait = at % 6; wait > 0; wait -= 1) await new Promise(setImmediate);
        await files.append(path, path);
      }),
    );
    for (const path of paths) expect(readFileSync(join(root, path), "utf8")).toBe(path);
  }
});

describe("the daemon's own files", () => {
  let daemon: string;
  let own: string;
  const KEPT = [
    "svc.json",
    "svc.json.bak.20260101T000000000Z",
    ".svc.json.4851.7.tmp",
    ".svc.json.lock",
    "svc.json~",
    ".env",
    ".env.local",
    "..env.4851.7.tmp",
    ".svc",
    ".svc/svc.db",
    ".svc/tokens.json",
    ".svc/actions/pwn.json",
    ".svc/plugins/action-other/notes",
  ];
  beforeEach(() => {
    daemon = join(base, "daemon");
    own = join(daemon, ".svc/plugins/action-mine");
    for (const folder of [own, join(daemon, ".svc/actions"), join(daemon, ".svc/plugins/action-other"), join(daemon, "workspace")])
      mkdirSync(folder, { recursive: true });
    for (const file of KEPT) if (file !== ".svc") writeFileSync(join(daemon, file), "CANARY");
    writeFileSync(join(daemon, "workspace", "notes.txt"), "free");
    writeFileSync(join(daemon, "svc.jsonl"), "free");
  });

  /** What lies outside of the roots as well is told so first. */
  const refusal = (found: string) => (found === "SVC_FILE_PROTECTED" || found === "SVC_FILE_OUTSIDE" ? "refused" : found);

  function untouched(): void {
    for (const file of KEPT) if (file !== ".svc") expect([file, readFileSync(join(daemon, file), "utf8")]).toEqual([file, "CANARY"]);
  }

  it("SEC-S1 are neither read, listed, written nor removed, whatever the roots say", async () => {
    for (const roots of [[daemon], ["/"], [join(daemon, ".svc/actions")], [join(daemon, "workspace"), base]]) {
      files = createFiles({ own, deps }).under(...roots);
      for (const file of [...KEPT, "SVC.JSON", ".Svc/svc.db", ".svc/new", ".svc/new/deeper"]) {
        for (const [way, run] of everyWay(join(daemon, file))) expect([roots, file, way, refusal(await code(run()))]).toEqual([roots, file, way, "refused"]);
      }
    }
    untouched();
    files = createFiles({ own, deps }).under(daemon);
    expect((await files.list(".")).map(({ name }) => name)).toEqual(["svc.jsonl", "workspace"]);
    expect(text(await files.read("workspace/notes.txt", 100))).toBe("free");
    expect(text(await files.read("svc.jsonl", 100))).toBe("free");
  });

  it("SEC-S1 cannot be reached by links, second names, and the ways of /proc", async () => {
    symlinkSync("../svc.json", join(daemon, "workspace/link"));
    symlinkSync("../.svc", join(daemon, "workspace/folder"));
    symlinkSync(daemon, join(daemon, "workspace/home"));
    symlinkSync("../.env.none", join(daemon, "workspace/new"));
    linkSync(join(daemon, ".env"), join(daemon, "workspace/hard"));
    files = createFiles({ own, deps }).under("/");
    const spelled = ["link", "folder", "folder/actions/x.json", "home/svc.json", "home/.svc/tokens.json"].map((path) => join(daemon, "workspace", path));
    for (const path of [...spelled, ...["self/root", `${process.pid}/root`, "thread-self/root"].map((at) => `/proc/${at}${join(daemon, ".env")}`)]) {
      for (const [way, run] of everyWay(path)) {
        if (/link|folder$/.test(path) && way === "remove") continue;
        expect([path, way, refusal(await code(run()))]).toEqual([path, way, "refused"]);
      }
    }
    expect(await code(files.read(join(daemon, "workspace/hard"), 100))).toBe("SVC_FILE_LINKED");
    expect(await code(files.append(join(daemon, "workspace/hard"), "X=1"))).toBe("SVC_FILE_LINKED");
    expect(await code(files.write(join(daemon, "workspace/new"), "X=1"))).toBe("SVC_FILE_OUTSIDE");
    for (const path of ["/proc/self/environ", `/proc/${process.pid}/environ`, "/proc/self/maps"])
      expect([path, await code(files.read(path, 1_000_000))]).toEqual([path, "SVC_FILE_PROTECTED"]);
    untouched();
  });

  it("SEC-S1 are known where a linked configuration leads, too, and when that link is made later", async () => {
    renameSync(join(daemon, "svc.json"), join(outside, "real.json"));
    files = createFiles({ own, deps }).under(outside);
    symlinkSync(join(outside, "real.json"), join(daemon, "svc.json"));
    expect(await code(files.read("real.json", 100))).toBe("SVC_FILE_PROTECTED");
    files = createFiles({ own, deps }).under(outside);
    for (const [way, run] of everyWay("real.json")) if (way !== "list") expect([way, await code(run())]).toEqual([way, "SVC_FILE_PROTECTED"]);
    expect((await files.list(".")).map(({ name }) => name)).toEqual(["secret"]);
  });

  it("SEC-S1 leaves a plugin its own folder, by either way", async () => {
    const capability = createFiles({ own, deps });
    await capability.own.write("a", "1");
    files = capability.under(daemon);
    expect(text(await files.read(join(own, "a"), 10))).toBe("1");
    await files.append(".svc/plugins/action-mine/a", "2");
    expect(text(await capability.own.read("a", 10))).toBe("12");
    expect(await code(files.read(".svc/plugins/action-other/notes", 10))).toBe("SVC_FILE_PROTECTED");
    expect(text(await capability.data.read("tokens.json", 10))).toBe("CANARY");
  });
});
