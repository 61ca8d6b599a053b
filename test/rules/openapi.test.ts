import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, it } from "vitest";
import { get, guarded, REMOTE } from "./auth.harness.ts";

/** Every plugin of this repository. */
const FIRST_PARTY = ["actions", "channels", "features", "tiers"].flatMap((kind) => {
  const folder = join(import.meta.dirname, "../../plugins", kind);
  return readdirSync(folder).map((name) => join(folder, name));
});

interface Document {
  readonly paths: Record<
    string,
    Record<string, { summary?: string; tags: string[]; "x-guard": string; parameters?: { name: string; in: string }[]; requestBody?: object }>
  >;
  readonly components: { readonly schemas: { readonly Error: { readonly properties: { readonly code: { readonly description: string } } } } };
}

describe("GET /openapi.json", () => {
  it("describes every route of both servers, to the letter of OpenAPI 3.1", async () => {
    const at = await guarded({ options: { known: FIRST_PARTY } });
    for (const server of ["daemon", "dashboard"]) {
      const { status, body } = await get(at.daemon, `/openapi.json?server=${server}`);
      expect(status).toBe(200);
      const document = body as unknown as Document;
      expect(await new Validator().validate(structuredClone(document) as never)).toMatchObject({ valid: true });
      const told = Object.entries(document.paths).flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replace(/\{\w+\}/g, ":")}`),
      );
      const served = at.kernel
        .routes()
        .filter((route) => (route.server ?? "daemon") === server)
        .map(({ method, path }) => `${method} ${path.replace(/:\w+/g, ":").replace(/\*$/, ":")}`);
      expect(served.length).toBeGreaterThan(20);
      expect(served.filter((one) => !told.includes(one))).toEqual([]);
    }
  });

  it("says of a route who may call it, what it takes and which errors there are; the kernel's own each say what they do", async () => {
    const at = await guarded();
    const document = (await get(at.daemon, "/openapi.json")).body as unknown as Document;
    const task = document.paths["/task"]?.post;
    expect(task).toMatchObject({ "x-guard": "peer", tags: ["kernel"], requestBody: { content: { "application/json": { schema: { type: "object" } } } } });
    expect(document.components.schemas.Error.properties.code.description).toContain("SVC_HTTP_INVALID (400)");
    const silent = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { summary, tags }]) => (tags[0] === "kernel" && summary === undefined ? [`${method} ${path}`] : [])),
    );
    expect(silent).toEqual([]);
    expect(JSON.stringify(document)).not.toMatch(/"(secret|masked|unread)":(true|false)/);
  });

  it("is for this machine and its peers, and for svc api", async () => {
    const at = await guarded();
    expect((await get(at.daemon, "/openapi.json", REMOTE)).status).toBe(401);
    // What a daemon's own process leaves for the command line.
    writeFileSync(join(at.dataFolder, "daemon.json"), JSON.stringify({ pid: process.pid, host: "127.0.0.1", port: at.kernel.address?.port, startedAt: 1 }));
    const { code, stdout, stderr } = await at.svc("api");
    expect(code, stderr).toBe(0);
    expect(stdout).toMatch(/POST +\/task +peer +kernel/);
    expect((await at.svc("api", "--server", "dashboard")).stdout).toContain("/api/me");
  });
});
