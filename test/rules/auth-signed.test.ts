import { createHmac } from "node:crypto";
import { definePlugin, type Plugin, requireMarker, requireSignature } from "@svc/sdk";
import { describe, expect, it } from "vitest";
import { baseOf, runKernel } from "../kit/kernel.ts";

/** A plugin with a signed webhook and a write that needs a marker, each noting what got through. */
function receiver(secret: () => string | undefined) {
  const passed: string[] = [];
  const plugin = definePlugin({
    kind: "feature",
    name: "receiver",
    version: "1.0.0",
    svc: "*",
    capabilities: ["routes"],
    setup(ctx) {
      ctx.provide.route({
        method: "POST",
        path: "/hook",
        guard: "signed",
        raw: true,
        async handle(request) {
          await requireSignature(request, secret());
          passed.push(Buffer.from(request.raw ?? []).toString());
          return { ok: true };
        },
      });
      ctx.provide.route({
        method: "PATCH",
        path: "/board/move",
        guard: "mesh",
        body: { type: "object", additionalProperties: true },
        handle(request) {
          requireMarker(request, "X-Requested-With", "svc-board");
          passed.push("moved");
          return { ok: true };
        },
      });
    },
  });
  return { plugin: plugin as Plugin<never>, passed };
}

const SECRET = "a-secret-of-some-length";
const sign = (body: string, secret = SECRET) => ({ "x-forge-signature-256": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}` });

describe("signed and marked routes", () => {
  it("FAULT-40 a webhook whose secret is named takes nothing unsigned or wrongly signed, and nothing at all when the variable is missing", async () => {
    let secret: string | undefined = SECRET;
    const { plugin, passed } = receiver(() => secret);
    const { kernel } = await runKernel({ inline: [plugin], listen: true });
    const send = async (body: string, headers: Record<string, string>) => (await fetch(`${baseOf(kernel)}/hook`, { method: "POST", body, headers })).status;
    const odd = '{ "spacing" :   "kept" }';
    expect(await send(odd, sign(odd))).toBe(200);
    expect(await send(odd, { "x-forge-token": SECRET })).toBe(200);
    expect(await send(odd, {})).toBe(401);
    expect(await send(odd, sign(odd, "another-secret"))).toBe(401);
    expect(await send(JSON.stringify(JSON.parse(odd)), sign(odd))).toBe(401);
    expect(await send(odd, { "x-forge-signature-256": "sha256=" })).toBe(401);
    expect(await send(odd, { "x-forge-token": "" })).toBe(401);
    for (const missing of [undefined, ""]) {
      secret = missing;
      expect(await send(odd, sign(odd, ""))).toBe(401);
      expect(await send(odd, { "x-forge-token": "" })).toBe(401);
      expect(await send(odd, {})).toBe(401);
    }
    expect(passed).toEqual([odd, odd]);
  });

  it("AUTH-22 a board write without X-Requested-With: svc-board is 403 by its value, before anything is done", async () => {
    const { plugin, passed } = receiver(() => SECRET);
    const { kernel } = await runKernel({ inline: [plugin], listen: true });
    const move = async (headers: Record<string, string>) =>
      (await fetch(`${baseOf(kernel)}/board/move`, { method: "PATCH", body: "{}", headers: { "content-type": "application/json", ...headers } })).status;
    expect(await move({})).toBe(403);
    expect(await move({ "x-requested-with": "XMLHttpRequest" })).toBe(403);
    expect(passed).toEqual([]);
    expect(await move({ "x-requested-with": "svc-board" })).toBe(200);
    expect(passed).toEqual(["moved"]);
  });
});
