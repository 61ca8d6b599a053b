import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import type { CapabilityScope } from "../../base/capability.ts";
import { canary, farServer, fetch, named, trusting as trustingIn } from "./fetch.harness.ts";
import { createFetch } from "./fetch.ts";
import { fetchCapability } from "./plugin-fetch.ts";
import { isPublicAddress } from "./public-address.ts";
import { nextHop } from "./redirect.ts";

const far = farServer();
const trusting = trustingIn(far);

describe("addresses", () => {
  it.each([
    "http://127.0.0.1:PORT/",
    "http://127.0.0.1.:PORT/",
    "http://127.1:PORT/",
    "http://127.000.000.001:PORT/",
    "http://0x7f.0.0.1:PORT/",
    "http://0x7f000001:PORT/",
    "http://2130706433:PORT/",
    "http://017700000001:PORT/",
    "http://0:PORT/",
    "http://0.0.0.0:PORT/",
    "http:127.0.0.1:PORT/",
    "http:\\\\127.0.0.1:PORT/",
    "http:///127.0.0.1:PORT/",
    " http://127.0.0\n.1:PORT/",
    "http://１２７.０.０.１:PORT/",
    "http://127。0。0。1:PORT/",
    "http://①②⑦.⓪.⓪.①:PORT/",
    "http://%31%32%37.0.0.1:PORT/",
    "HTTP://LocalHost:PORT/",
    "http://[::]:PORT/",
    "http://[::1]:PORT/",
    "http://[0:0:0:0:0:0:0:1]:PORT/",
    "http://[::ffff:127.0.0.1]:PORT/",
    "http://[0:0:0:0:0:ffff:7f00:1]:PORT/",
    "http://[::127.0.0.1]:PORT/",
    "http://[64:ff9b::7f00:1]:PORT/",
    "http://[64:ff9b:1::7f00:1]:PORT/",
    "http://[2002:7f00:1::]:PORT/",
    "http://[2001:0:7f00:1::]:PORT/",
    "http://[fc00::1]/",
    "http://[fd00:ec2::254]/latest/meta-data/",
    "http://[fe80::1]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://[2001:db8::1]/",
    "http://[100::1]/",
    "http://10.0.0.1/",
    "http://100.100.100.200/latest/meta-data/",
    "http://168.63.129.16/machine",
    "http://169.254.169.254/latest/meta-data/",
    "http://0xa9fea9fe/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.0.0.192/",
    "http://192.168.1.1/",
    "http://198.18.0.1/",
    "http://224.0.0.1/",
    "http://240.0.0.1/",
    "https://255.255.255.255/",
    "https://127.0.0.1:PORT/",
  ])("FAULT-52 refuses %j before it connects", async (address) => {
    await expect(fetch(address.replace("PORT", String(far.port)))).rejects.toMatchObject({ code: "SVC_FETCH_BLOCKED" });
    expect(far.connections).toBe(0);
  });

  it.each(["file:///etc/passwd", "ftp://example.com/", "gopher://127.0.0.1/", "data:text/plain,x", "ws://example.com/", "javascript:1", "unix:/run/x.sock"])(
    "ACT-02 refuses the scheme of %s",
    async (address) => {
      await expect(fetch(address)).rejects.toMatchObject({ code: "SVC_FETCH_URL", message: expect.stringContaining("http") });
    },
  );

  it("refuses what is no URL and credentials in one, and repeats neither", async () => {
    for (const address of [`//${canary}`, `http://${canary}:99999999/`, "", `http://user:${canary}@example.com/`, `http://${canary}@127.0.0.1/`]) {
      const error = await fetch(address).catch((reason) => reason);
      expect(error).toMatchObject({ code: "SVC_FETCH_URL" });
      expect(error.message + JSON.stringify(error)).not.toContain(canary);
    }
  });

  it("FAULT-52 refuses a name that leads to a closed address", async () => {
    for (const address of ["127.0.0.1", "::1", "::ffff:127.0.0.1", "169.254.169.254", "10.1.2.3", "fe80::1%eth0", "nonsense"]) {
      await expect(named(address)(`http://metadata.google.internal:${far.port}/`)).rejects.toMatchObject({
        code: "SVC_FETCH_BLOCKED",
        message: expect.stringContaining("metadata.google.internal"),
      });
    }
    await expect(named("127.0.0.1")(`http://localhost.:${far.port}/`)).rejects.toMatchObject({ code: "SVC_FETCH_BLOCKED" });
    await expect(named()("http://nothing.test/")).rejects.toMatchObject({ code: "SVC_FETCH_BLOCKED" });
    expect(far.connections).toBe(0);
  });

  it("FAULT-52 asks for a rebinding name once a connection and uses nothing but that answer", async () => {
    const answers = ["127.0.0.1", "10.0.0.1", "127.0.0.1"];
    let asked = 0;
    const rebinding = createFetch({ resolve: async () => [{ address: answers[asked++] ?? "127.0.0.1", family: 4 }] });
    for (let request = 1; request <= 3; request++) {
      await expect(rebinding(`http://rebind.test:${far.port}/`)).rejects.toMatchObject({ code: "SVC_FETCH_BLOCKED" });
      expect(asked).toBe(request);
    }
    expect(far.connections).toBe(0);
  });

  it("does not find the kept connection of a trusted request with a guarded one", async () => {
    const both = named("127.0.0.1");
    const address = `http://bot.test:${far.port}`;
    expect((await both(`${address}/`, { trustedOrigins: [address] })).text()).toBe("reached");
    await expect(both(`${address}/`)).rejects.toMatchObject({ code: "SVC_FETCH_BLOCKED" });
    expect(far.connections).toBe(1);
  });

  it("exempts exactly the trusted origin: not another port, scheme or name of the same machine", async () => {
    expect((await trusting("/")).text()).toBe("reached");
    for (const trusted of [
      `http://127.0.0.1:${far.port + 1}`,
      `https://127.0.0.1:${far.port}`,
      `http://localhost:${far.port}`,
      "http://127.0.0.1",
      "127.0.0.1",
      "*",
      "",
    ]) {
      await expect(fetch(`${far.origin}/`, { trustedOrigins: [trusted] })).rejects.toMatchObject({ code: "SVC_FETCH_BLOCKED" });
    }
    await expect(fetch(`http://localhost:${far.port}/`, { trustedOrigins: [far.origin] })).rejects.toMatchObject({ code: "SVC_FETCH_BLOCKED" });
  });

  it("knows public addresses", () => {
    for (const address of ["8.8.8.8", "93.184.216.34", "172.15.0.1", "172.32.0.1", "100.63.255.255", "100.128.0.0", "2606:4700:4700::1111", "2a00:1450::1"]) {
      expect([address, isPublicAddress(address)]).toEqual([address, true]);
    }
    for (const address of ["example.com", "", "8.8.8", "[2606:4700::1]"]) expect([address, isPublicAddress(address)]).toEqual([address, false]);
  });
});

describe("redirects", () => {
  const redirect = (status: number, location: string) => {
    far.handle = (request, response) => {
      if (request.url === "/end") return response.end(`${request.method} ${request.headers["x-key"] ?? ""}`);
      response.writeHead(status, { location }).end("moved");
    };
  };

  it.each([
    "http://127.0.0.1:1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://localhost:PORT/end",
    "//[::1]:PORT/end",
    "http://[::ffff:7f00:1]:PORT/end",
  ])("ACT-02 FAULT-52 refuses a redirect to %s", async (location) => {
    redirect(302, location.replace("PORT", String(far.port)));
    await expect(trusting("/")).rejects.toMatchObject({ code: "SVC_FETCH_BLOCKED" });
    expect(far.connections).toBe(1);
  });

  it.each(["file:///etc/passwd", "gopher://example.com/", "http://", `http://user:${canary}@example.com/`])(
    "ACT-02 refuses a redirect to %s",
    async (location) => {
      redirect(302, location);
      const error = await trusting("/").catch((reason) => reason);
      expect(error).toMatchObject({ code: "SVC_FETCH_URL" });
      expect(error.message).not.toContain(canary);
    },
  );

  it("does not let a redirect carry trust from one trusted origin to another", async () => {
    const second = createServer((_, response) => response.end("reached")).listen(0, "127.0.0.1");
    await once(second, "listening");
    const other = `http://127.0.0.1:${(second.address() as AddressInfo).port}`;
    redirect(307, `${other}/`);
    await expect(trusting("/", { trustedOrigins: [far.origin, other] })).rejects.toMatchObject({ code: "SVC_FETCH_BLOCKED" });
    second.close();
  });

  it("ACT-02 follows within an origin and tells the final address, without fragment", async () => {
    redirect(301, "/end#part");
    expect(await trusting("/", { headers: { "X-Key": "k" } })).toMatchObject({ status: 200, url: `${far.origin}/end` });
    expect((await trusting("/", { headers: { "X-Key": "k" } })).text()).toBe("GET k");
  });

  it("hands a redirect over where the caller follows by hand, and asks nothing there", async () => {
    redirect(307, "http://127.0.0.1:1/elsewhere");
    const answer = await trusting("/", { method: "PUT", body: "words", redirect: "manual" });
    expect([answer.status, answer.headers.location, answer.url]).toEqual([307, "http://127.0.0.1:1/elsewhere", `${far.origin}/`]);
    expect(far.connections).toBe(1);
  });

  it("follows five by default and no more", async () => {
    far.handle = (request, response) => {
      const left = Number(request.url?.slice(1));
      if (left === 0) response.end("there");
      else response.writeHead(302, { location: `/${left - 1}` }).end();
    };
    expect((await trusting("/5")).text()).toBe("there");
    await expect(trusting("/6")).rejects.toMatchObject({ code: "SVC_FETCH_REDIRECT", message: expect.stringContaining("5") });
    await expect(trusting("/1", { maxRedirects: 0 })).rejects.toMatchObject({ code: "SVC_FETCH_REDIRECT" });
  });

  it.each([
    [301, "POST", "GET"],
    [302, "POST", "GET"],
    [303, "POST", "GET"],
    [303, "PUT", "GET"],
    [303, "HEAD", "HEAD"],
    [301, "PUT", "PUT"],
    [302, "DELETE", "DELETE"],
    [307, "POST", "POST"],
    [308, "POST", "POST"],
  ])("after %i a %s goes on as %s, with its body only where the method stays", (status, method, expected) => {
    const url = new URL("https://a.test/");
    const hop = { url, method, headers: { "content-type": "text/plain", "content-length": "1", authorization: canary }, body: "x" };
    const next = nextHop(hop, status, new URL("https://a.test/next"));
    const kept = method === expected;
    expect(next).toMatchObject({ method: expected, body: kept ? "x" : undefined });
    expect(Object.keys(next.headers)).toEqual(kept ? ["content-type", "content-length", "authorization"] : ["authorization"]);
  });

  it.each(["https://b.test/", "http://a.test/", "https://a.test:8443/"])("lets no key cross to %s, under whatever name", (target) => {
    const headers = {
      accept: "*/*",
      authorization: canary,
      cookie: canary,
      "proxy-authorization": canary,
      "private-token": canary,
      "x-api-key": canary,
      "x-anything": canary,
    };
    expect(nextHop({ url: new URL("https://a.test/"), method: "GET", headers, body: undefined }, 302, new URL(target)).headers).toEqual({ accept: "*/*" });
  });
});

describe("the fetch of an isolated plugin", () => {
  const fetchOf = (section: unknown, network: readonly string[] = []) =>
    fetchCapability().make({ isolated: true, signal: new AbortController().signal, section, network } as unknown as CapabilityScope);
  const refusal = (address: string, section: unknown = {}, network?: readonly string[]) =>
    fetchOf(section, network)(address, { trustedOrigins: [new URL(address).origin], timeoutMs: 50 }).catch(({ code }) => code);

  it.each(["0.0.0.7", "[::]", "[::1]", "[::ffff:0:0]", "[::ffff:0.0.0.1]", "[::ffff:127.0.0.1]", "[0:0:0:0:0:ffff:7f00:1]", "127.1"])(
    "SEC-S4 trusts %s nowhere, whatever the plugin and its section say",
    async (host) => {
      expect(await refusal(`http://${host}:${far.port}/`, { server: `http://${host}:${far.port}` }, ["*"])).toBe("SVC_FETCH_ISOLATED");
      expect(far.connections).toBe(0);
    },
  );

  it("SEC-S4 trusts an address within the walls only where the operator has seen it", async () => {
    // No route leads there.
    const address = "http://[::2]:9/";
    expect(await refusal(address)).toBe("SVC_FETCH_BLOCKED");
    expect(await refusal(address, { server: "http://[::3]:9" })).toBe("SVC_FETCH_BLOCKED");
    expect(await refusal(address, { server: "http://[::2]:9" })).not.toBe("SVC_FETCH_BLOCKED");
    expect(await refusal(address, {}, ["[::2]:9"])).not.toBe("SVC_FETCH_BLOCKED");
  });
});
