import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { Webhooks } from "@octokit/webhooks";
import type { Plugin } from "@svc/sdk";
import { Webhook } from "standardwebhooks";
import { beforeEach, describe, expect, it } from "vitest";
import webhooks from "../../plugins/features/webhooks/index.ts";
import { baseOf, type Running, runKernel } from "../kit/kernel.ts";

const SECRET = "a secret of some length";
const STANDARD = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const env = { ...process.env, PLAIN_SECRET: SECRET, STANDARD_SECRET: STANDARD };
const ENTRIES = [
  { id: "plain", source: "plain", agentId: "a", secretEnv: "PLAIN_SECRET" },
  { id: "standard", source: "standard", agentId: "a", secretEnv: "STANDARD_SECRET" },
];
const BODIES = ["{}", '{"odd":   "spacing",  "odd": "Grüße 🔑\\u0000"}', JSON.stringify({ text: "x".repeat(2_000_000) })];
const hasOpenssl = (() => {
  try {
    execFileSync("openssl", ["version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();

let running: Running;
beforeEach(async () => {
  running = await runKernel({ inline: [webhooks as unknown as Plugin<never>], listen: true, env, config: { webhooks: ENTRIES } });
});

/** As another machine behind a proxy sends it. */
async function post(source: string, body: string, headers: Record<string, string>): Promise<number> {
  const response = await fetch(`${baseOf(running.kernel)}/webhook/a/${source}`, {
    method: "POST",
    body,
    headers: { "content-type": "application/json", "x-forwarded-for": "203.0.113.9", "x-delivery-id": crypto.randomUUID(), ...headers },
  });
  await response.arrayBuffer();
  return response.status;
}

/** `openssl dgst` over standard input. */
async function opensslHmac(body: string, secret: string): Promise<string> {
  const child = spawn("openssl", ["dgst", "-sha256", "-hmac", secret, "-hex"], { stdio: ["pipe", "pipe", "inherit"] });
  let out = "";
  child.stdout.on("data", (chunk) => {
    out += chunk;
  });
  child.stdin.end(body);
  await once(child, "close");
  return out.trim().split(/\s/).at(-1) ?? "";
}

describe("deliveries signed by programs of others", () => {
  it.skipIf(!hasOpenssl)("HOOK-03 openssl: taken, up to 2 MB and through a proxy; refused with another secret or another body", async () => {
    for (const body of BODIES) {
      const digest = await opensslHmac(body, SECRET);
      expect(digest).toMatch(/^[0-9a-f]{64}$/);
      for (const header of ["x-forge-signature-256", "x-hub-signature-256"]) {
        expect(await post("plain", body, { [header]: `sha256=${digest}` })).toBe(202);
        expect(await post("plain", `${body} `, { [header]: `sha256=${digest}` })).toBe(401);
        expect(await post("plain", body, { [header]: `sha256=${await opensslHmac(body, `${SECRET}.`)}` })).toBe(401);
      }
    }
  });

  it("HOOK-03 @octokit/webhooks: what its sender signs is taken, what its receiver refuses is refused", async () => {
    const hub = new Webhooks({ secret: SECRET });
    for (const body of BODIES) {
      const signature = await hub.sign(body);
      expect(await hub.verify(body, signature)).toBe(true);
      expect(await post("plain", body, { "x-hub-signature-256": signature })).toBe(202);
      expect(await hub.verify(`${body}\n`, signature)).toBe(false);
      expect(await post("plain", `${body}\n`, { "x-hub-signature-256": signature })).toBe(401);
    }
  });

  it("HOOK-03 standardwebhooks: taken within 300 s of its time, under its own id alone, and refused where its own receiver refuses", async () => {
    const sender = new Webhook(STANDARD);
    for (const body of BODIES)
      for (const seconds of [0, -280, 280, -330, 330]) {
        const at = new Date(Date.now() + seconds * 1000);
        const id = `msg_${crypto.randomUUID()}`;
        const headers = { "webhook-id": id, "webhook-timestamp": `${Math.floor(at.getTime() / 1000)}`, "webhook-signature": sender.sign(id, at, body) };
        let theirs = 202;
        try {
          sender.verify(body, headers);
        } catch {
          theirs = 401;
        }
        expect([seconds, await post("standard", body, headers)]).toEqual([seconds, theirs]);
        expect(await post("standard", body, { ...headers, "webhook-id": `${id}x` })).toBe(401);
      }
  });

  it("HOOK-01 without a signature, or with an impossible one, the answer is there before a byte of 2 MB is sent", async () => {
    for (const headers of [
      {},
      { "x-hub-signature-256": "sha256=0" },
      { "webhook-id": "1", "webhook-timestamp": "1", "webhook-signature": "v1,AA==" },
      { "x-gitlab-token": "no" },
    ]) {
      const sending = httpRequest(`${baseOf(running.kernel)}/webhook/a/plain`, {
        method: "POST",
        headers: { "content-type": "application/json", "content-length": 2_000_000, "x-forwarded-for": "203.0.113.9", ...headers },
      });
      sending.on("error", () => {});
      sending.flushHeaders();
      const [response] = await once(sending, "response");
      expect([headers, response.statusCode]).toEqual([headers, 401]);
      sending.destroy();
    }
    expect(running.tier.prompts).toEqual([]);
  });
});
