import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { definePlugin, type Plugin } from "@svc/sdk";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../kit/kernel.ts";
import { bearer, guarded, REMOTE, send } from "./auth.harness.ts";

/** A plugin somewhere on disk whose manifest declares scopes, and whose one route asks for `guard`. */
async function laid(name: string, scopes: readonly object[], guard: string): Promise<string> {
  const folder = join(await temporaryFolder(), name);
  await mkdir(folder, { recursive: true });
  const svc = { api: 1, kind: "feature", name, entry: "./index.mjs", activate: "always", capabilities: ["routes"], scopes };
  await writeFile(join(folder, "package.json"), JSON.stringify({ name: `svc-plugin-${name}`, version: "1.0.0", type: "module", svc }));
  const route = `{ method: "POST", path: "/${name}/:run", guard: ${JSON.stringify(guard)}, handle: ({ params }) => ({ ran: params.run }) }`;
  await writeFile(
    join(folder, "index.mjs"),
    `export default { kind: "feature", name: "${name}", version: "1.0.0", svc: "*", capabilities: ["routes"], setup(ctx) { ctx.provide.route(${route}); } };`,
  );
  return folder;
}

describe("scopes of plugins", () => {
  it("AUTH-01 AUTH-08 are made into tokens, open what asks for them and what they include, and nothing else", async () => {
    const folder = await laid("runs", [{ name: "runs:read" }, { name: "runs:write", summary: "start runs", includes: ["runs:read"] }], "scope:runs:read");
    const at = await guarded({ config: { plugins: [folder] } });
    const [writer, reader, other] = [await at.token("runs:write"), await at.token("runs:read"), await at.token("dashboard:write", "agent:*")];
    const ask = (secret: string) => send(at.daemon, "/runs/one", {}, bearer(secret));
    expect((await ask(writer.secret)).body).toEqual({ ran: "one" });
    expect((await ask(reader.secret)).status).toBe(200);
    expect((await ask(other.secret)).status).toBe(403);
    expect((await send(at.daemon, "/runs/one", {}, REMOTE)).status).toBe(401);
    expect((await at.svc("token", "create", "--name", "x", "--scope", "runs:admin")).stderr).toMatch(/no scope 'runs:admin'[\s\S]*runs:write\s+start runs/);
  });

  it("AUTH-08 one each of many things is taken from the path", async () => {
    const folder = await laid("flows", [{ name: "flows:<id>" }, { name: "flows:*", includes: ["flows:<id>"] }], "scope:flows::run");
    const at = await guarded({ config: { plugins: [folder] } });
    const [one, all] = [await at.token("flows:one"), await at.token("flows:*")];
    const statuses = [];
    for (const { secret } of [one, all]) for (const run of ["one", "two"]) statuses.push((await send(at.daemon, `/flows/${run}`, {}, bearer(secret))).status);
    expect(statuses).toEqual([200, 403, 200, 200]);
  });

  it.each([
    ["that no plugin declares", [], "scope:ghosts:read", /asks for the scope 'ghosts:read', which no plugin declares; name it in scopes of the manifest/],
    [
      "of a family that is another plugin's",
      [{ name: "dashboard:admin", includes: ["dashboard:write"] }],
      "scope:dashboard:admin",
      /'dashboard:admin', which no/,
    ],
    ["of a parameter that its path does not have", [{ name: "ghosts:<id>" }], "scope:ghosts::ghost", /the parameter ':ghost', which the path does not have/],
  ])("AUTH-20 a route that asks for a scope %s fails its plugin alone, with the reason", async (_what, scopes, guard, reason) => {
    const at = await guarded({ config: { plugins: [await laid("ghosts", scopes, guard)] } });
    expect(at.kernel.health().plugins.find(({ id }) => id === "feature-ghosts")).toMatchObject({ state: "failed", reason: expect.stringMatching(reason) });
    expect((await send(at.daemon, "/ghosts/one")).status).toBe(404);
    expect(at.kernel.health().ok).toBe(true);
  });

  it("are declared in code by a plugin that has no manifest", async () => {
    const runs = definePlugin({
      kind: "feature",
      name: "runs",
      version: "1.0.0",
      svc: "^0.1.0",
      capabilities: ["routes"],
      scopes: [{ name: "runs:write" }],
      setup: (ctx) => ctx.provide.route({ method: "POST", path: "/runs", guard: "scope:runs:write", handle: () => ({}) }),
    });
    const at = await guarded({ plugins: [runs as unknown as Plugin<never>] });
    expect((await send(at.daemon, "/runs", {}, REMOTE)).status).toBe(401);
  });
});
