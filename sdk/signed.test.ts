import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { requireSignature, requireSignatureHeader, SIGNATURES, type SignatureSchemes, type SignatureSecret } from "./signed.ts";

interface Sent {
  readonly raw?: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

const codeOf = ({ code }: { code: string }) => code;
const ok = () => "ok";
const judge = ({ raw = Buffer.of(), headers }: Sent, secret: SignatureSecret, schemes: SignatureSchemes, now = Date.now) =>
  requireSignature({ raw, headers }, secret, schemes, now).then(ok, codeOf);
const judgeHeader = ({ headers }: Sent, secret: SignatureSecret, schemes: SignatureSchemes, now = Date.now) =>
  requireSignatureHeader({ headers }, secret, schemes, now).then(ok, codeOf);

/** What another program computes. */
const openssl = (args: readonly string[], input: Uint8Array): Buffer => execFileSync("openssl", ["dgst", "-sha256", ...args, "-binary"], { input });

/** The vector that the maker of the header publishes. */
const HUB = {
  secret: "It's a Secret to Everybody",
  raw: Buffer.from("Hello, World!"),
  headers: { "x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17" },
};
/** The vector of the Standard Webhooks libraries. */
const STANDARD = {
  secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  raw: Buffer.from('{"test": 2432232314}'),
  headers: {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  },
};
const AT = () => 1_614_265_330_000;

describe("signatures of senders", () => {
  it("AUT-A7 are those that their makers publish", async () => {
    expect(await judge(HUB, HUB.secret, SIGNATURES.hub)).toBe("ok");
    expect(await judge({ ...HUB, raw: Buffer.from("Hello, World?") }, HUB.secret, SIGNATURES.hub)).toBe("SVC_REQUEST_UNSIGNED");
    expect(await judge(STANDARD, STANDARD.secret, SIGNATURES.standard, AT)).toBe("ok");
    expect(await judge(STANDARD, STANDARD.secret.slice("whsec_".length), SIGNATURES.standard, AT)).toBe("ok");
    for (const name of ["webhook-id", "webhook-timestamp"])
      expect(await judge({ ...STANDARD, headers: { ...STANDARD.headers, [name]: "1614265331" } }, STANDARD.secret, SIGNATURES.standard, AT)).toBe(
        "SVC_REQUEST_UNSIGNED",
      );
    for (const name of Object.keys(STANDARD.headers)) {
      const { [name as keyof typeof STANDARD.headers]: _, ...headers } = STANDARD.headers;
      expect(await judge({ ...STANDARD, headers }, STANDARD.secret, SIGNATURES.standard, AT)).toBe("SVC_REQUEST_UNSIGNED");
    }
  });

  it("AUT-A7 are those that openssl makes of any bytes and any secret", async () => {
    for (const size of [0, 1, 1_000, 2_000_000]) {
      const raw = randomBytes(size);
      const secret = `geheim 🔑 ${randomBytes(8).toString("hex")}`;
      const hex = openssl(["-mac", "HMAC", "-macopt", `hexkey:${Buffer.from(secret).toString("hex")}`], raw).toString("hex");
      expect(await judge({ raw, headers: { "x-hub-signature-256": `sha256=${hex}` } }, secret, SIGNATURES.hub)).toBe("ok");
      expect(await judge({ raw, headers: { "x-forge-signature-256": `sha256=${hex}` } }, secret, SIGNATURES.forge)).toBe("ok");
      const key = randomBytes(32);
      const time = Math.floor(Date.now() / 1000);
      const signed = openssl(["-mac", "HMAC", "-macopt", `hexkey:${key.toString("hex")}`], Buffer.concat([Buffer.from(`msg_{time}.${time}.`), raw]));
      const headers = { "webhook-id": "msg_{time}", "webhook-timestamp": `${time}`, "webhook-signature": `v1,${signed.toString("base64")}` };
      expect(await judge({ raw, headers }, `whsec_${key.toString("base64")}`, SIGNATURES.standard)).toBe("ok");
    }
  });

  it("AUT-A7 of which several came are right when one is, as while the sender's secret changes; other versions count for nothing", async () => {
    const other = `v1,${Buffer.alloc(32).toString("base64")}`;
    const right = STANDARD.headers["webhook-signature"];
    const send = (signature: string) =>
      judge({ ...STANDARD, headers: { ...STANDARD.headers, "webhook-signature": signature } }, STANDARD.secret, SIGNATURES.standard, AT);
    expect(await send(`${other} ${right}`)).toBe("ok");
    expect(await send(`v1a,bm90IHVz ${right} v2,bm8=`)).toBe("ok");
    for (const wrong of [other, right.replace("v1,", "v1a,"), right.slice(3), `${right.slice(0, -2)}=`, `${right},${right}`, "v1,", ""])
      expect(await send(wrong), wrong).toBe("SVC_REQUEST_UNSIGNED");
  });

  it("AUT-A7 are right under any of several secrets of ours, and under none that is missing or empty", async () => {
    for (const secrets of [
      [HUB.secret, "the next one"],
      ["the former one", undefined, HUB.secret],
    ])
      expect(await judge(HUB, secrets, SIGNATURES.hub)).toBe("ok");
    const empty = openssl(["-mac", "HMAC", "-macopt", "hexkey:00"], HUB.raw).toString("hex");
    for (const secret of [undefined, "", [], [""], [undefined, ""], ["another"]])
      for (const sent of [HUB, { raw: HUB.raw, headers: { "x-hub-signature-256": `sha256=${empty}` } }])
        expect(await judge(sent, secret, SIGNATURES.hub)).toBe("SVC_REQUEST_UNSIGNED");
    expect(await judge(STANDARD, "whsec_not base64", SIGNATURES.standard, AT)).toBe("SVC_REQUEST_UNSIGNED");
    expect(await judge(STANDARD, "whsec_", SIGNATURES.standard, AT)).toBe("SVC_REQUEST_UNSIGNED");
  });

  it("AUT-A7 may be of several kinds; one is enough, and two that contradict each other are refused", async () => {
    const kinds = [{ token: "x-gitlab-token" }, SIGNATURES.standard, SIGNATURES.hub, SIGNATURES.forge];
    const secrets = [HUB.secret, STANDARD.secret];
    const token = { "x-gitlab-token": HUB.secret };
    expect(await judge(HUB, secrets, kinds)).toBe("ok");
    expect(await judge(STANDARD, secrets, kinds, AT)).toBe("ok");
    expect(await judge({ raw: HUB.raw, headers: token }, secrets, kinds)).toBe("ok");
    expect(await judge({ ...STANDARD, headers: { ...STANDARD.headers, ...token } }, secrets, kinds, AT)).toBe("ok");
    for (const headers of [
      { ...HUB.headers, "x-gitlab-token": "another" },
      { ...HUB.headers, "x-gitlab-token": "" },
      { ...token, "x-hub-signature-256": `sha256=${"0".repeat(64)}` },
      { ...token, "x-hub-signature-256": "" },
      { ...HUB.headers, "x-forge-token": "another" },
      { ...STANDARD.headers, "x-forge-token": STANDARD.secret },
      {},
    ])
      expect(await judge({ raw: HUB.raw, headers }, secrets, kinds, AT), JSON.stringify(headers)).toBe("SVC_REQUEST_UNSIGNED");
    expect(await judge(HUB, secrets, [])).toBe("SVC_REQUEST_UNSIGNED");
  });

  it("AUT-A7 of another time are refused: five minutes in either direction, or what the scheme says", async () => {
    const shifted = (seconds: number) => () => AT() + seconds * 1000;
    for (const within of [-300, 300]) expect(await judge(STANDARD, STANDARD.secret, SIGNATURES.standard, shifted(within))).toBe("ok");
    for (const beyond of [-301, 301]) {
      expect(await judge(STANDARD, STANDARD.secret, SIGNATURES.standard, shifted(beyond))).toBe("SVC_REQUEST_STALE");
      expect(await judge(STANDARD, STANDARD.secret, { ...SIGNATURES.standard, toleranceSeconds: 301 }, shifted(beyond))).toBe("ok");
    }
    for (const odd of ["-1614265330", "1614265330.0", " 1614265330 1", "0x603", "NaN", "1".repeat(16)])
      expect(await judge({ ...STANDARD, headers: { ...STANDARD.headers, "webhook-timestamp": odd } }, STANDARD.secret, SIGNATURES.standard, AT), odd).toBe(
        "SVC_REQUEST_UNSIGNED",
      );
  });

  it("AUT-A7 are looked at before the body as far as the headers decide", async () => {
    expect(await judgeHeader(HUB, HUB.secret, SIGNATURES.hub)).toBe("ok");
    expect(await judgeHeader(STANDARD, STANDARD.secret, SIGNATURES.standard, AT)).toBe("ok");
    expect(await judgeHeader(STANDARD, STANDARD.secret, SIGNATURES.standard)).toBe("SVC_REQUEST_STALE");
    expect(await judgeHeader({ headers: { "x-forge-token": HUB.secret } }, HUB.secret, SIGNATURES.forge)).toBe("ok");
    for (const headers of [{}, { "x-forge-token": "another" }, { "x-forge-signature-256": "sha256=00" }, { "x-forge-signature-256": "0".repeat(64) }])
      expect(await judgeHeader({ headers }, HUB.secret, SIGNATURES.forge), JSON.stringify(headers)).toBe("SVC_REQUEST_UNSIGNED");
    expect(await judgeHeader(HUB, undefined, SIGNATURES.hub)).toBe("SVC_REQUEST_UNSIGNED");
    await expect(requireSignature(HUB, HUB.secret, SIGNATURES.hub)).resolves.toBeUndefined();
    await expect(requireSignature({ headers: HUB.headers }, HUB.secret, SIGNATURES.hub)).rejects.toMatchObject({ code: "SVC_REQUEST_UNSIGNED", status: 401 });
  });
});
