import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { requireSignature, requireSignatureHeader, SIGNATURES } from "@svc/sdk";
import { describe, expect, it } from "vitest";

const folder = join(import.meta.dirname, "node_modules");
const isMissing = ["@octokit/webhooks", "standardwebhooks"].some((name) => !existsSync(join(folder, name)));
const BODIES = ["{}", '{"odd":   "spacing", "text": "Grüße 🔑\\u0000"}', JSON.stringify({ text: "x".repeat(1_000_000) })];

interface Hub {
  sign(payload: string): Promise<string>;
  verify(payload: string, signature: string): Promise<boolean>;
}
interface Standard {
  sign(id: string, at: Date, payload: string): string;
  verify(payload: string, headers: Record<string, string>): unknown;
}

describe.skipIf(isMissing)("signatures made by the libraries of those who send them", () => {
  it("AUT-A7 @octokit/webhooks: accepted as its own receiver accepts them, and refused with another body or secret", async () => {
    const { Webhooks } = (await import(pathToFileURL(join(folder, "@octokit/webhooks/dist-bundle/index.js")).href)) as {
      Webhooks: new (options: { secret: string }) => Hub;
    };
    const secret = "a secret 🔑 of some length";
    const hub = new Webhooks({ secret });
    for (const body of BODIES) {
      const signature = await hub.sign(body);
      expect(await hub.verify(body, signature)).toBe(true);
      const request = { raw: Buffer.from(body), headers: { "x-hub-signature-256": signature } };
      await requireSignatureHeader(request, secret, SIGNATURES.hub);
      await requireSignature(request, secret, [SIGNATURES.standard, SIGNATURES.hub]);
      for (const [sent, known] of [
        [{ ...request, raw: Buffer.from(`${body} `) }, secret],
        [request, `${secret}.`],
      ] as const)
        await expect(requireSignature(sent, known, SIGNATURES.hub)).rejects.toMatchObject({ code: "SVC_REQUEST_UNSIGNED" });
    }
  });

  it("AUT-A7 standardwebhooks: accepted and refused at the same times as by its own receiver", async () => {
    const { Webhook } = createRequire(import.meta.url)(join(folder, "standardwebhooks")) as { Webhook: new (secret: string) => Standard };
    const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
    const sender = new Webhook(secret);
    for (const body of BODIES)
      for (const seconds of [0, -290, 290, -310, 310]) {
        const at = new Date(Date.now() + seconds * 1000);
        const time = `${Math.floor(at.getTime() / 1000)}`;
        const headers = { "webhook-id": "msg_1", "webhook-timestamp": time, "webhook-signature": `v1a,bm8= ${sender.sign("msg_1", at, body)}` };
        const theirs = await Promise.resolve()
          .then(() => sender.verify(body, headers))
          .then(
            () => true,
            () => false,
          );
        const ours = await requireSignature({ raw: Buffer.from(body), headers }, secret, SIGNATURES.standard).then(
          () => true,
          () => false,
        );
        expect([seconds, ours]).toEqual([seconds, theirs]);
        expect(ours).toBe(Math.abs(seconds) < 300);
        const other = requireSignature({ raw: Buffer.from(`${body} `), headers }, secret, SIGNATURES.standard);
        await expect(other).rejects.toMatchObject({ code: "SVC_REQUEST_UNSIGNED" });
      }
  });
});
