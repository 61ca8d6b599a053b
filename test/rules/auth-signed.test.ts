import { createHmac } from "node:crypto";
import { definePlugin, type HttpRequest, type Plugin, requireMarker, requireSignature, type SignatureScheme } from "@svc/sdk";
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
        guard: "peer",
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

  it("AUT-A7 a webhook may ask for larger bodies than strangers send by default, to the byte, and no more than there is room for", async () => {
    const MAX = 26_214_400;
    const large = definePlugin({
      kind: "feature",
      name: "large",
      version: "1.0.0",
      svc: "*",
      capabilities: ["routes"],
      setup(ctx) {
        const handle = async (request: HttpRequest) => {
          await requireSignature(request, SECRET);
          return { bytes: request.raw?.length };
        };
        for (const [path, maxBytes] of Object.entries({ "/large": MAX, "/some": 200_000 }))
          ctx.provide.route({ method: "POST", path, guard: "signed", raw: true, maxBytes, handle });
        ctx.provide.route({ method: "POST", path: "/usual", guard: "signed", raw: true, handle });
      },
    });
    const greedy = definePlugin({
      ...large,
      name: "greedy",
      setup: (ctx) => ctx.provide.route({ method: "POST", path: "/greedy", guard: "signed", maxBytes: MAX + 1, handle: () => 1 }),
    });
    const { kernel } = await runKernel({ inline: [large, greedy] as Plugin<never>[], listen: true });
    const post = async (path: string, size: number) => {
      const body = "x".repeat(size);
      const answer = await fetch(`${baseOf(kernel)}${path}`, { method: "POST", body, headers: { ...sign(body), "x-forwarded-for": "203.0.113.9" } });
      return [answer.status, ((await answer.json()) as { bytes?: number }).bytes];
    };
    expect(await post("/large", 70_000)).toEqual([200, 70_000]);
    expect(await post("/large", MAX)).toEqual([200, MAX]);
    expect(await post("/large", MAX + 1)).toEqual([413, undefined]);
    expect(await post("/some", 200_000)).toEqual([200, 200_000]);
    expect(await post("/some", 200_001)).toEqual([413, undefined]);
    expect(await post("/usual", 70_000)).toEqual([413, undefined]);
    const refused = { id: "feature-greedy", state: "failed", reason: expect.stringContaining(`maxBytes must be from 1 to ${MAX}`) };
    expect(kernel.health().plugins).toContainEqual(expect.objectContaining(refused));
  });

  it("AUT-A7 a sender may sign in its own way: another header, a time that is signed too, another digest", async () => {
    const raw = Buffer.from('{"odd":  "spacing"}');
    const now = 1_700_000_000_000;
    const time = now / 1000;
    const mac = (content: string, algorithm = "sha256", encoding: "hex" | "base64" = "hex", key = SECRET) =>
      createHmac(algorithm, key).update(content).digest(encoding);
    const judge = (scheme: SignatureScheme, headers: Record<string, string>, secret: string | undefined = SECRET) =>
      requireSignature({ raw, headers }, secret, scheme, () => now).then(
        () => "ok",
        ({ code }) => code,
      );
    const hub: SignatureScheme = { header: "X-Hub-Signature-256", prefix: "sha256=" };
    expect(await judge(hub, { "x-hub-signature-256": `sha256=${mac(`${raw}`)}` })).toBe("ok");
    expect(await judge(hub, { "x-hub-signature-256": mac(`${raw}`) })).toBe("SVC_REQUEST_UNSIGNED");
    expect(await judge({ header: "x-plain" }, { "x-plain": mac(`${raw}`) })).toBe("ok");
    expect(await judge({ header: "x-plain", algorithm: "SHA-1" }, { "x-plain": mac(`${raw}`, "sha1") })).toBe("ok");
    const wide: SignatureScheme = { header: "x-plain", algorithm: "SHA-512", encoding: "base64" };
    expect(await judge(wide, { "x-plain": mac(`${raw}`, "sha512", "base64") })).toBe("ok");
    expect(await judge(wide, { "x-plain": "not base64!" })).toBe("SVC_REQUEST_UNSIGNED");

    const listed: SignatureScheme = { header: "stripe-signature", field: "v1", time: { field: "t" } };
    const list = (at: number, ...digests: string[]) => ({ "stripe-signature": [`t=${at}`, ...digests.map((digest) => `v1=${digest}`), "v0=zz"].join(",") });
    expect(await judge(listed, list(time, mac(`${time}.${raw}`)))).toBe("ok");
    expect(await judge(listed, list(time, mac("other"), mac(`${time}.${raw}`)))).toBe("ok");
    expect(await judge(listed, list(time + 1, mac(`${time}.${raw}`)))).toBe("SVC_REQUEST_UNSIGNED");
    expect(await judge(listed, list(time, mac(`${raw}`)))).toBe("SVC_REQUEST_UNSIGNED");
    expect(await judge(listed, { "stripe-signature": `v1=${mac(`.${raw}`)}` })).toBe("SVC_REQUEST_UNSIGNED");
    for (const late of [-301, 301]) expect(await judge(listed, list(time + late, mac(`${time + late}.${raw}`)))).toBe("SVC_REQUEST_STALE");
    expect(await judge({ ...listed, toleranceSeconds: 400 }, list(time - 301, mac(`${time - 301}.${raw}`)))).toBe("ok");

    const slack: SignatureScheme = { header: "x-slack-signature", prefix: "v0=", time: { header: "x-slack-request-timestamp" }, content: "v0:{time}:{body}" };
    const signed = { "x-slack-signature": `v0=${mac(`v0:${time}:${raw}`)}` };
    expect(await judge(slack, { ...signed, "x-slack-request-timestamp": `${time}` })).toBe("ok");
    expect(await judge(slack, signed)).toBe("SVC_REQUEST_UNSIGNED");

    const token: SignatureScheme = { token: "X-Gitlab-Token" };
    expect(await judge(token, { "x-gitlab-token": SECRET })).toBe("ok");
    expect(await judge(token, { "x-gitlab-token": `${SECRET}x` })).toBe("SVC_REQUEST_UNSIGNED");
    for (const secret of [undefined, ""]) {
      expect(await judge({ header: "x-plain" }, { "x-plain": mac(`${raw}`, "sha256", "hex", "") }, secret as string)).not.toBe("ok");
      expect(await judge(token, { "x-gitlab-token": "" }, secret as string)).not.toBe("ok");
    }
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
