import { createHash } from "node:crypto";
import { mkdir, readFile, symlink, truncate, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { type ContextOptions, runContext, textOf } from "../kit/context.ts";
import { baseOf, temporaryFolder } from "../kit/kernel.ts";

const sha = (text: string) => createHash("sha256").update(text).digest("hex");
const NAME = "references/registry.json";

async function run(options: ContextOptions = {}) {
  const running = await runContext({ listen: true, agent: { contextReferences: true }, ...options });
  const base = `${baseOf(running.kernel)}/agents/a`;
  const call = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(base + path, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    });
    return { status: response.status, body: (await response.json()) as Record<string, never> & { code?: string } };
  };
  const layer = async () => textOf(await running.say("hello"), "references");
  const registry = async () => JSON.parse(await readFile(join(running.workspace, NAME), "utf8")) as Record<string, unknown>[];
  return { ...running, call, layer, registry };
}

describe("CTX-02 verified means that somebody has looked", () => {
  it("CTX-02 a file is verified while its hash is the one that was noted, and unverified with the reason as soon as it is not", async () => {
    const entry = (name: string, more: object) => ({ name, at: `docs/${name}.md`, verified: "2026-01-02", ...more });
    const { layer, workspace } = await run({
      files: {
        "docs/good.md": "good",
        "docs/changed.md": "new",
        "docs/unnoted.md": "x",
        "docs/large.md": "x",
        [NAME]: JSON.stringify([
          entry("good", { sha256: sha("good").toUpperCase(), note: "the plan" }),
          entry("changed", { sha256: sha("old") }),
          entry("gone", { sha256: sha("gone") }),
          entry("unnoted", {}),
          entry("large", { sha256: sha("x") }),
          entry("link", { sha256: sha("secret") }),
          entry("out", { at: "../../etc/passwd", sha256: sha("x") }),
          entry("part", { at: "docs/good.md#chapter", sha256: sha("good") }),
          { name: "page", at: "https://example.org/x", verified: "2026-01-03" },
          { name: "dead", at: "https://example.org/y", verified: "2026-01-03", failed: "dead link: it answers 404" },
          { name: "never", at: "docs/good.md" },
          { name: 5, at: "x", verified: "x" },
          null,
        ]),
      },
    });
    const outside = await temporaryFolder();
    await writeFile(join(outside, "s"), "secret");
    await symlink(join(outside, "s"), join(workspace, "docs/link.md"));
    await truncate(join(workspace, "docs/large.md"), 2_000_000);
    expect((await layer()).split("\n")).toEqual([
      "## Verified references",
      "- changed: docs/changed.md (unverified: it has changed since 2026-01-02)",
      "- dead: https://example.org/y (unverified: dead link: it answers 404)",
      "- gone: docs/gone.md (unverified: it is not there)",
      "- good: docs/good.md - the plan (verified 2026-01-02)",
      "- large: docs/large.md (unverified: it is larger than 1 MiB)",
      "- link: docs/link.md (unverified: it leads out of the workspace)",
      "- out: ../../etc/passwd (unverified: it leads out of the workspace)",
      "- page: https://example.org/x (checked 2026-01-03)",
      "- part: docs/good.md#chapter (verified 2026-01-02)",
      "- unnoted: docs/unnoted.md (unverified: its content was never noted)",
    ]);
    await writeFile(join(workspace, "docs/good.md"), "g00d");
    expect(await layer()).toContain("- good: docs/good.md - the plan (unverified: it has changed since 2026-01-02)");
  });

  it("CTX-02 they are added as checked, looked at again, accepted and removed; other entries and keys stay as they are", async () => {
    const { call, layer, registry, workspace } = await run({
      files: { "docs/a.md": "one", [NAME]: JSON.stringify([{ name: "old", at: "docs/a.md", owner: "Ann" }, "a line of somebody"]) },
    });
    expect(await call("POST", "/references", { name: "plan", at: "docs/a.md" })).toMatchObject({
      status: 200,
      body: { reference: { state: "verified", sha256: sha("one") } },
    });
    expect(await call("POST", "/references", { name: "plan", at: "docs/a.md" })).toMatchObject({ status: 409, body: { code: "SVC_REFERENCE_TAKEN" } });
    expect(await call("POST", "/references", { name: "x", at: "docs/none.md" })).toMatchObject({ status: 422, body: { code: "SVC_REFERENCE_UNREACHED" } });
    expect(await layer()).toMatch(/- plan: docs\/a\.md \(verified \d{4}-\d\d-\d\d\)$/);
    await writeFile(join(workspace, "docs/a.md"), "two");
    const looked = await call("POST", "/references/verify", { name: "plan" });
    expect(looked.body).toMatchObject({ references: [{ name: "plan", state: "unverified" }] });
    expect(await layer()).toContain("unverified: it has changed");
    expect((await call("POST", "/references/verify", { name: "plan", accept: true })).body).toMatchObject({
      references: [{ state: "verified", sha256: sha("two") }],
    });
    // What was never checked is by looking at it.
    expect((await call("POST", "/references/verify", {})).body).toMatchObject({ references: [{ name: "old", state: "verified" }, { name: "plan" }] });
    expect((await registry())[0]).toMatchObject({ name: "old", owner: "Ann", sha256: sha("two") });
    expect(await call("POST", "/references/remove", { name: "plan" })).toMatchObject({ status: 200 });
    expect(await call("POST", "/references/remove", { name: "plan" })).toMatchObject({ status: 404, body: { code: "SVC_REFERENCE_UNKNOWN" } });
    expect((await registry())[1]).toBe("a line of somebody");
    await writeFile(join(workspace, NAME), "{ broken");
    for (const [method, path, body] of [
      ["GET", "/references"],
      ["POST", "/references", { name: "p", at: "docs/a.md" }],
    ] as const)
      expect(await call(method, path, body)).toMatchObject({ status: 422, body: { code: "SVC_REFERENCE_REGISTRY" } });
    expect(await readFile(join(workspace, NAME), "utf8")).toBe("{ broken");
  });

  const page = createServer((_, reply) => reply.end("page"));
  afterAll(() => void page.close());

  it("CTX-02 an address on this machine or one that is dead is not verified, and a failed look stays noted", async () => {
    await new Promise<void>((resolve) => page.listen(0, "127.0.0.1", resolve));
    const at = `http://127.0.0.1:${(page.address() as AddressInfo).port}/`;
    const { call, registry, layer } = await run({ files: { [NAME]: JSON.stringify([{ name: "page", at, verified: "2026-01-01", sha256: sha("page") }]) } });
    expect((await call("POST", "/references", { name: "n", at })).body.code).toBe("SVC_REFERENCE_UNREACHED");
    expect((await call("POST", "/references", { name: "n", at: "file:///etc/passwd" })).body.code).toBe("SVC_REFERENCE_UNREACHED");
    expect(await layer()).toContain("(checked 2026-01-01)");
    expect((await call("POST", "/references/verify", {})).body).toMatchObject({ references: [{ state: "unverified" }] });
    expect(await registry()).toMatchObject([{ name: "page", verified: "2026-01-01", failed: expect.stringContaining("dead link") }]);
    expect(await layer()).toContain("(unverified: dead link");
  });
});

describe("what an agent remembers is a protected read", () => {
  const secret = "sk-live-0123456789abcdefghijklmnop";
  it("000:L253 it is listed, shown without credentials and bounded, edited by who has read it, and removed; no event has a word of it", async () => {
    const { call, events, workspace } = await run({
      files: {
        "MEMORY.md": `The cat is called Pelican.\napi key: ${secret}\nThe password is hunter2hunter2\n`,
        "memory/people/ann.md": "Ann likes tea.",
        "memory/.hidden.md": "no",
        "memory/x.bin": "no",
        "notes.md": "no",
        "memory/long.md": "line\n".repeat(40_000),
      },
    });
    const { body } = await call("GET", "/memory");
    expect((body as unknown as { files: { file: string }[] }).files.map(({ file }) => file)).toEqual(["MEMORY.md", "memory/long.md", "memory/people/ann.md"]);
    const shown = (await call("GET", "/memory?file=MEMORY.md")).body as unknown as { text: string; redacted: number; tag: string };
    expect(shown.text).toContain("Pelican");
    expect(shown.text).not.toMatch(/sk-live|hunter2/);
    expect(shown.redacted).toBe(2);
    expect((await call("GET", "/memory?file=memory/long.md")).body).toMatchObject({ cut: true, size: 200_000 });
    for (const file of ["notes.md", "../MEMORY.md", "memory/../notes.md", "memory/.hidden.md", "memory/x.bin", "memory/a\0.md", "/etc/passwd"])
      expect((await call("GET", `/memory?file=${encodeURIComponent(file)}`)).status, file).toBeGreaterThanOrEqual(400);
    expect((await call("GET", "/memory?file=memory/none.md")).body.code).toBe("SVC_MEMORY_UNKNOWN");
    const edited = { file: "MEMORY.md", text: "The cat is called Heron.\n", tag: shown.tag };
    expect((await call("PUT", "/memory", edited)).status).toBe(200);
    expect(await call("PUT", "/memory", edited)).toMatchObject({ status: 409, body: { code: "SVC_MEMORY_CHANGED" } });
    expect(await readFile(join(workspace, "MEMORY.md"), "utf8")).toBe("The cat is called Heron.\n");
    expect((await call("DELETE", "/memory?file=MEMORY.md")).status).toBe(200);
    expect((await call("GET", "/memory?file=MEMORY.md")).status).toBe(404);
    // A file that nobody can read whole can be removed all the same.
    await truncate(join(workspace, "memory/long.md"), 64 * 2 ** 30);
    expect((await call("GET", "/memory?file=memory/long.md")).body.code).toBe("SVC_FILE_TOO_LARGE");
    expect((await call("DELETE", "/memory?file=memory/long.md")).status).toBe(200);
    expect((await call("DELETE", "/memory?file=memory/long.md")).body.code).toBe("SVC_MEMORY_UNKNOWN");
    expect((await call("DELETE", "/memory?file=memory/none/none.md")).body.code).toBe("SVC_MEMORY_UNKNOWN");
    await mkdir(join(workspace, "memory/deep/deeper/deepest"), { recursive: true });
    await symlink("/etc/hostname", join(workspace, "memory/link.md"));
    expect((await call("GET", "/memory?file=memory/link.md")).status).toBeGreaterThanOrEqual(400);
    const heard = JSON.stringify(events);
    for (const word of ["Pelican", "Heron", "tea", secret]) expect(heard).not.toContain(word);
  });
});
