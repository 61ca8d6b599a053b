import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { ROOT } from "../house/house.ts";
import { OFFER } from "../kit/call-offer.ts";
import { baseOf, post, runKernel, temporaryFolder } from "../kit/kernel.ts";
import { ask, endDaemons, logThread, startDaemon, writeConfig } from "./daemon.harness.ts";

const KNOWN = ["channels/webrtc", "features/transcription", "features/calls"].map((path) => join(ROOT, "plugins", path));
const WEBRTC = { enabled: true, stunServers: [], hostAddresses: ["127.0.0.1"], bot: { enabled: true } };

interface Joined {
  readonly id: string;
  readonly bearer: string;
}

/** A person calls the agent and joins with the link. */
async function join1(base: string, to: string): Promise<Joined> {
  const { call, url } = (await post(base, "/calls", { to })).body as unknown as { call: { id: string }; url: string };
  const { bearer } = (await post(base, `/calls/${call.id}/join`, { code: url.split("#")[1] })).body as unknown as { bearer: string };
  return { id: call.id, bearer };
}
const as = ({ bearer }: Joined) => ({ authorization: `Bearer ${bearer}` });

afterEach(endDaemons);

describe("calls over HTTP", () => {
  const serving = async () => {
    const { kernel } = await runKernel({ known: KNOWN, listen: true, config: { channels: { webrtc: WEBRTC }, calls: {} } });
    return baseOf(kernel);
  };

  it("an offer of 2 MB is 413, and one that is none 400; the call goes on ringing and takes a right one, once", async () => {
    const base = await serving();
    const one = await join1(base, "a");
    const path = `/calls/${one.id}/answer`;
    expect((await post(base, path, { offer: `v=0\r\n${"x".repeat(2_097_152)}` }, as(one))).status).toBe(413);
    for (const offer of ["", "x", "v=0\r\n", 5, null, { a: 1 }]) expect((await post(base, path, { offer }, as(one))).status).toBe(400);
    expect((await post(base, path, { offer: OFFER }, as(one))).body).toMatchObject({ call: { state: "running" }, answer: expect.stringContaining("v=0") });
    expect((await post(base, path, { offer: OFFER }, as(one))).status).toBe(409);
    expect((await post(base, `/calls/${one.id}/end`, {}, as(one))).status).toBe(200);
  });

  it("a request through a proxy, without the call's own bearer, is nobody's; the pages hold no data and a strict policy", async () => {
    const base = await serving();
    const [one, other] = [await join1(base, "a"), await join1(base, "a")];
    const remote = { "x-forwarded-for": "203.0.113.9" };
    for (const [path, status] of [
      ["/calls", 401],
      [`/calls/${one.id}/answer`, 401],
      [`/calls/${one.id}/candidate`, 401],
      [`/calls/${one.id}/end`, 401],
      [`/calls/${one.id}/ask`, 403],
      ["/calls/c000000000000/answer", 404],
    ] as const)
      expect([path, (await post(base, path, { candidate: null }, remote)).status]).toEqual([path, status]);
    expect((await post(base, `/calls/${one.id}/candidate`, { candidate: null }, { ...remote, ...as(other) })).status).toBe(403);
    const page = await fetch(`${base}/call/${one.id}`, { headers: remote });
    expect(page.headers.get("content-security-policy")).toMatch(/^default-src 'none'; script-src 'self';(?!.*unsafe)/);
    expect(await page.text()).not.toMatch(/<script>|<style|style=| on\w+=/);
    for (const file of ["call.js", "session.js", "page.css"]) expect((await fetch(`${base}/call-page/${file}`)).status).toBe(200);
  });

  it("a stream that is cut goes on behind the last event it had", async () => {
    const base = await serving();
    const one = await join1(base, "a");
    await post(base, `/calls/${one.id}/answer`, { offer: OFFER }, as(one));
    const open = (last?: string) =>
      fetch(`${base}/calls/${one.id}/stream`, { headers: { ...as(one), ...(last === undefined ? {} : { "last-event-id": last }) } });
    const first = (await open()).body?.getReader();
    let seen = "";
    while (!/^id: \d+\n[\s\S]*\n\n$/m.test(seen)) seen += new TextDecoder().decode((await first?.read())?.value);
    const last = [...seen.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1];
    await first?.cancel();
    const again = await open(last);
    await post(base, `/calls/${one.id}/end`, {}, as(one));
    const rest = await again.text();
    expect([...rest.matchAll(/^id: (\d+)$/gm)].every(([, id]) => Number(id) > Number(last))).toBe(true);
    expect(rest).toContain("event: ended");
  });
});

describe("a daemon with calls", () => {
  const begun = async () => {
    const folder = await temporaryFolder();
    writeConfig(folder, { channels: { webrtc: WEBRTC }, calls: {} });
    const daemon = await startDaemon(folder);
    return { folder, daemon, base: `http://127.0.0.1:${daemon.port}` };
  };

  it("killed with kill -9 in a call, ends it in its row at the next start", async () => {
    const { folder, daemon, base } = await begun();
    const one = await join1(base, "echo");
    expect((await post(base, `/calls/${one.id}/answer`, { offer: OFFER }, as(one))).status).toBe(200);
    const ringing = await join1(base, "echo");
    await daemon.kill("SIGKILL");
    const next = await startDaemon(folder);
    for (const { id } of [one, ringing])
      expect((await ask(next.port, `/calls/${id}`)).body).toMatchObject({ call: { state: "ended", end: { reason: "restarted" } } });
    expect((await post(`http://127.0.0.1:${next.port}`, `/calls/${one.id}/end`, {}, as(one))).status).toBe(410);
  });

  it("fifty calls, one after the other, leave no descriptor behind", { timeout: 240_000 }, async () => {
    const { folder, daemon, base } = await begun();
    await logThread(daemon, folder);
    const count = Number(process.env.SVC_SOAK ?? 50);
    const descriptors = () => readdirSync(`/proc/${daemon.pid}/fd`).length;
    const call = async () => {
      const one = await join1(base, "echo");
      expect((await post(base, `/calls/${one.id}/answer`, { offer: OFFER }, as(one))).status).toBe(200);
      expect((await post(base, `/calls/${one.id}/end`, {}, as(one))).status).toBe(200);
    };
    for (let n = 0; n < 5; n += 1) await call();
    const before = descriptors();
    for (let n = 0; n < count; n += 1) await call();
    // Sockets of the last calls and of this test's own requests close in their own time.
    for (let patience = 0; descriptors() > before && patience < 300; patience += 1) await new Promise((resolve) => setTimeout(resolve, 100));
    expect(descriptors()).toBeLessThanOrEqual(before);
    expect((await ask<{ calls: unknown[] }>(daemon.port, "/calls")).body.calls).toEqual([]);
  });
});
