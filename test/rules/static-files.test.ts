import { link, mkdir, open, rename, symlink, truncate, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../kit/kernel.ts";
import { bearer, guarded, REMOTE } from "./auth.harness.ts";

/** A plugin somewhere on disk that serves its folder `ui`. */
async function laid(files: object): Promise<string> {
  const folder = join(await temporaryFolder(), "shop");
  await mkdir(join(folder, "ui/deep"), { recursive: true });
  const svc = { api: 1, kind: "feature", name: "shop", entry: "./index.mjs", activate: "always", capabilities: ["routes"] };
  await writeFile(join(folder, "package.json"), JSON.stringify({ name: "svc-plugin-shop", version: "1.0.0", type: "module", svc }));
  await writeFile(
    join(folder, "index.mjs"),
    `export default { kind: "feature", name: "shop", version: "1.0.0", svc: "*", capabilities: ["routes"],
      setup(ctx) { ctx.provide.files({ prefix: "/shop", folder: "ui", guard: "open", ...${JSON.stringify(files)} }); } };`,
  );
  await writeFile(join(folder, "ui/app.js"), "let a = 1;");
  await writeFile(join(folder, "ui/deep/page.html"), "<p>hi</p>");
  await writeFile(join(folder, "ui/deep/data.bin"), Buffer.from([0, 255]));
  await writeFile(join(folder, "ui/.hidden"), "secret");
  await symlink(join(folder, "package.json"), join(folder, "ui/link.json"));
  await symlink(folder, join(folder, "ui/up"));
  await link(join(folder, "ui/app.js"), join(folder, "ui/same.js"));
  return folder;
}

describe("files that a plugin serves", () => {
  it("are those of its folder, with their types, also under a second name as package managers lay them", async () => {
    const at = await guarded({ config: { plugins: [await laid({})] } });
    const get = async (path: string) => {
      const answer = await fetch(at.daemon + path);
      return [answer.status, answer.headers.get("content-type"), await answer.text()];
    };
    expect(await get("/shop/app.js")).toEqual([200, "text/javascript; charset=utf-8", "let a = 1;"]);
    expect(await get("/shop/same.js")).toEqual([200, "text/javascript; charset=utf-8", "let a = 1;"]);
    expect(await get("/shop/deep/page.html")).toEqual([200, "text/html; charset=utf-8", "<p>hi</p>"]);
    expect((await get("/shop/deep/data.bin")).slice(0, 2)).toEqual([200, "application/octet-stream"]);
    expect(at.kernel.health().plugins.find(({ id }) => id === "feature-shop")).toMatchObject({ provides: ["files /shop"], failures: 0 });
  });

  it("FAULT-50 are nothing else: no folder, no link, no hidden name, nothing above", async () => {
    const at = await guarded({ config: { plugins: [await laid({})] } });
    for (const path of [
      "",
      "/",
      "/deep",
      "/deep/",
      "/no.js",
      "/.hidden",
      "/link.json",
      "/up/package.json",
      "/%2e%2e/package.json",
      "/deep%2F..%2F..%2Fpackage.json",
      "/..%5cpackage.json",
    ]) {
      const answer = await fetch(`${at.daemon}/shop${path}`);
      expect([path, [400, 404].includes(answer.status)]).toEqual([path, true]);
      expect(await answer.text()).not.toContain("svc-plugin-shop");
    }
  });

  it("are asked about by ETag and time, for HEAD and in parts, as any server of files", async () => {
    const folder = await laid({});
    await writeFile(join(folder, "ui/ten.txt"), "0123456789");
    await writeFile(join(folder, "ui/empty.txt"), "");
    const at = await guarded({ config: { plugins: [folder] } });
    const ask = async (path: string, headers: Record<string, string> = {}, method = "GET") => {
      const answer = await fetch(`${at.daemon}/shop/${path}`, { method, headers });
      const { connection, "keep-alive": keepAlive, ...given } = Object.fromEntries(answer.headers);
      return { status: answer.status, headers: given, text: await answer.text() };
    };
    const whole = await ask("ten.txt");
    expect(whole).toMatchObject({
      status: 200,
      text: "0123456789",
      headers: {
        "cache-control": "public, no-cache",
        "accept-ranges": "bytes",
        vary: "accept-encoding",
        "content-length": "10",
        "x-content-type-options": "nosniff",
      },
    });
    const { etag = "", "last-modified": modified = "" } = whole.headers;
    expect(await ask("ten.txt", {}, "HEAD")).toEqual({ ...whole, text: "", headers: { ...whole.headers, date: expect.anything() } });
    for (const known of [{ "if-none-match": etag }, { "if-none-match": `W/${etag}, "x"` }, { "if-modified-since": modified }])
      for (const method of ["GET", "HEAD"]) expect(await ask("ten.txt", known, method)).toMatchObject({ status: 304, text: "", headers: { etag } });
    expect((await ask("ten.txt", { "if-none-match": '"x"', "if-modified-since": modified })).status).toBe(200);
    const part = (range: string, more = {}) => ask("ten.txt", { range, ...more });
    expect(await part("bytes=2-4")).toMatchObject({ status: 206, text: "234", headers: { "content-range": "bytes 2-4/10", "content-length": "3", etag } });
    expect(await part("bytes=-2", { "if-range": etag })).toMatchObject({ status: 206, text: "89" });
    expect(await part("bytes=-2", { "if-range": '"x"' })).toMatchObject({ status: 200, text: "0123456789" });
    expect(await part("bytes=0-1,3-4")).toMatchObject({ status: 200, text: "0123456789" });
    expect(await part("bytes=10-")).toMatchObject({ status: 416, text: "", headers: { "content-range": "bytes */10" } });
    expect(await ask("empty.txt")).toMatchObject({ status: 200, text: "", headers: { "content-length": "0" } });
    expect(await ask("no.txt", {}, "HEAD")).toMatchObject({ status: 404, headers: { "cache-control": "no-store" } });
    expect(await ask("ten.txt", {}, "POST")).toMatchObject({ status: 405, headers: { allow: "GET, HEAD" } });
    expect((await fetch(`${at.daemon}/health`, { method: "HEAD" })).status).toBe(405);

    await writeFile(join(folder, "ui/ten.txt"), "9876543210");
    const changed = await ask("ten.txt", { "if-none-match": etag });
    expect([changed.status, changed.text]).toEqual([200, "9876543210"]);
  });

  it("come compressed from beside themselves, where the caller takes that and it is not older", async () => {
    const folder = await laid({ immutable: true });
    const text = "let a = 1;".repeat(1_000);
    await writeFile(join(folder, "ui/big.js"), text);
    await writeFile(join(folder, "ui/big.js.br"), brotliCompressSync(text));
    await writeFile(join(folder, "ui/big.js.gz"), gzipSync(text));
    await symlink(join(folder, "ui/big.js.br"), join(folder, "ui/app.js.br"));
    const at = await guarded({ config: { plugins: [folder] } });
    const ask = async (name: string, accepted: string, more: Record<string, string> = {}) => {
      const answer = await fetch(`${at.daemon}/shop/${name}`, { headers: { "accept-encoding": accepted, ...more } });
      const { "content-encoding": coding, "content-type": type, "cache-control": cache, etag } = Object.fromEntries(answer.headers);
      return { status: answer.status, coding, type, cache, etag, text: await answer.text() };
    };
    const common = { type: "text/javascript; charset=utf-8", cache: "public, max-age=31536000, immutable" };
    const answers = [await ask("big.js", "gzip, br"), await ask("big.js", "gzip, br;q=0"), await ask("big.js", "identity")];
    expect(answers).toMatchObject(["br", "gzip", undefined].map((coding) => ({ ...common, status: 200, coding, text })));
    expect(new Set(answers.map(({ etag }) => etag)).size).toBe(3);
    expect(await ask("big.js", "br", { "if-none-match": answers[0]?.etag as string })).toMatchObject({ status: 304, text: "" });
    expect(await ask("big.js", "br", { range: "bytes=0-2" })).toMatchObject({ status: 206, coding: undefined, text: "let" });
    expect(await ask("app.js", "br, gzip")).toMatchObject({ coding: undefined, text: "let a = 1;" });
    await utimes(join(folder, "ui/big.js.br"), 1, 1);
    expect(await ask("big.js", "br, gzip")).toMatchObject({ coding: "gzip", text });
  });

  it("kept packed only are unpacked for those who do not take them so", async () => {
    const folder = await laid({});
    const text = "let packed = 'only';\n".repeat(20_000);
    await writeFile(join(folder, "ui/only.js.br"), brotliCompressSync(text));
    await writeFile(join(folder, "ui/broken.js.br"), brotliCompressSync(text).subarray(0, 30));
    const at = await guarded({ config: { plugins: [folder] } });
    const ask = async (accepted: string, init: RequestInit = {}) => {
      const answer = await fetch(`${at.daemon}/shop/only.js`, { ...init, headers: { "accept-encoding": accepted, ...init.headers } });
      const { status, headers } = answer;
      const got = await answer.text();
      return {
        status,
        coding: headers.get("content-encoding"),
        type: headers.get("content-type"),
        etag: headers.get("etag") ?? "",
        vary: headers.get("vary"),
        got,
      };
    };
    const common = { status: 200, type: "text/javascript; charset=utf-8", vary: "accept-encoding", got: text };
    const [packed, plain] = [await ask("gzip, br"), await ask("gzip")];
    expect([packed, plain]).toMatchObject([
      { ...common, coding: "br" },
      { ...common, coding: null },
    ]);
    expect(packed.etag).not.toBe(plain.etag);
    expect(await ask("identity", { headers: { "if-none-match": plain.etag } })).toMatchObject({ status: 304, got: "" });
    expect(await ask("identity", { headers: { range: "bytes=0-2" } })).toMatchObject({ ...common, coding: null });
    expect(await ask("identity", { method: "HEAD" })).toMatchObject({ status: 200, etag: plain.etag, got: "" });
    await expect(fetch(`${at.daemon}/shop/broken.js`, { headers: { "accept-encoding": "identity" } }).then((answer) => answer.text())).rejects.toThrow();
    expect((await fetch(`${at.daemon}/shop/no.js`, { headers: { "accept-encoding": "identity" } })).status).toBe(404);
  });

  it("larger than memory should hold come piece by piece, and end the connection where they change meanwhile", async () => {
    const folder = await laid({});
    const size = 64 * 1_048_576;
    await writeFile(join(folder, "ui/large.bin"), Buffer.alloc(size, 1));
    const at = await guarded({ config: { plugins: [folder] } });
    const url = `${at.daemon}/shop/large.bin`;
    expect((await (await fetch(url)).arrayBuffer()).byteLength).toBe(size);
    const file = join(folder, "ui/large.bin");
    const inPlace = async () => {
      const handle = await open(file, "r+");
      await handle.write("changed", size - 7);
      await handle.close();
    };
    for (const change of [inPlace, () => truncate(file, size - 1), () => writeFile(file, Buffer.alloc(size, 2))]) {
      const answer = await fetch(url);
      await change();
      const end = answer.arrayBuffer().then(
        () => "whole",
        () => "cut",
      );
      expect(await end).toBe("cut");
    }
    // One that is replaced under its name is another file: the reader gets the former one whole.
    const answer = await fetch(url);
    await writeFile(join(folder, "ui/next.bin"), "short");
    await rename(join(folder, "ui/next.bin"), join(folder, "ui/large.bin"));
    const bytes = new Uint8Array(await answer.arrayBuffer());
    expect([bytes.length, bytes.every((byte) => byte === 2)]).toEqual([size, true]);
    expect(await (await fetch(url)).text()).toBe("short");
  });

  it("AUTH-01 are behind their guard", async () => {
    const at = await guarded({
      config: { plugins: [await laid({ guard: "scope:dashboard:read", server: "dashboard" })] },
      dashboard: { token: "the-single-bearer" },
    });
    expect((await fetch(`${at.dashboard}/shop/app.js`, { headers: REMOTE })).status).toBe(401);
    expect((await fetch(`${at.dashboard}/shop/app.js`, { headers: bearer("the-single-bearer") })).status).toBe(200);
    expect((await fetch(`${at.daemon}/shop/app.js`)).status).toBe(404);
  });

  it.each([["../elsewhere/ui"], ["/etc"], ["."], [".."]])("a folder %s that is not its own fails the plugin, with the reason", async (folder) => {
    const at = await guarded({ config: { plugins: [await laid({ folder })] } });
    expect(at.kernel.health().plugins.find(({ id }) => id === "feature-shop")).toMatchObject({
      state: "failed",
      reason: expect.stringContaining("must lie below the folder of its package"),
    });
  });
});
