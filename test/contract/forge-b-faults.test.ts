import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { ForgeNote, StreamingFetch } from "@svc/sdk";
import { afterEach, describe, expect, it } from "vitest";
import { AS, type Stage, type StageOptions, setStage } from "./forge-b-adapter.harness.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});
const stage = async (options?: StageOptions) => {
  const made = await setStage(options);
  closing.push(() => made.close());
  return made;
};

/** A host that nobody configured; it keeps what it gets. */
async function stranger() {
  const got: { url: string; headers: string; body: string }[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    got.push({ url: request.url ?? "", headers: JSON.stringify(request.headers), body });
    response.writeHead(200, { "content-type": "application/json" }).end("[]");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, got };
}

function asked({ far, newest }: Stage): ForgeNote {
  far.comment("ann", far.open("ann", "acme/app", "issue", { title: "t" }), "@helper-bot");
  return newest();
}

describe("the token and the App's key go to the configured origin alone", () => {
  it.each([
    [false, 302],
    [false, 307],
    [true, 307],
  ])("over redirects and links (App %s, %i)", async (app) => {
    const elsewhere = await stranger();
    // As if it were a public address: the guard of the fetch is not what holds here.
    const reachable = (real: StreamingFetch): StreamingFetch =>
      Object.assign((url: string, init = {}) => real(url, { ...init, trustedOrigins: [new URL(url).origin] }), { stream: real.stream });
    const made = await stage({ app, fetch: reachable });
    const note = asked(made);
    const { far, forge, signal } = made;
    for (const path of [/\/comments/, /\/permission/, /\/access_tokens/, /\/installation$/])
      far.faults.next({ kind: "redirect", to: `${elsewhere.url}/x` }, { path });
    for (const path of [/\/comments/, /\/labels/]) far.faults.next({ kind: "link", to: `${elsewhere.url}/next` }, { path, method: "GET" });
    const calls = [
      () => forge.post(note.place, "secret words", AS, { reply: note }, signal),
      () => forge.right(note.place.project, note.author, AS, signal),
      () => forge.comments(note.place, 0, AS, signal),
      () => forge.label(note.place, { add: ["bug"], remove: [] }, AS, signal),
    ];
    for (let round = 0; round < 3; round += 1) for (const call of calls) await call().catch(() => {});
    expect(elsewhere.got).toEqual([]);
    expect(far.requests.some(({ status }) => status === 302)).toBe(true);
  });

  it("a call that is led elsewhere fails for good, and says which setting to look at", async () => {
    const made = await stage();
    const note = asked(made);
    made.far.faults.next({ kind: "redirect", to: "https://elsewhere.example/x" }, { path: "/comments" });
    await expect(made.forge.post(note.place, "words", AS, { reply: note }, made.signal)).rejects.toMatchObject({
      failure: "permanent",
      message: expect.stringContaining("channels.forge_b.apiRoot"),
    });
  });

  it("follows a repository that was renamed, within the origin", async () => {
    const made = await stage();
    const note = asked(made);
    made.far.addProject("acme/new", { members: { "helper-bot": "write" } });
    const { id } = made.far.open("ann", "acme/new", "issue", { title: "t" });
    made.far.faults.next({ kind: "redirect", to: `${made.far.url}/repos/acme/new/issues/${id}/comments` }, { path: "/comments", method: "GET" });
    expect(await made.forge.comments(note.place, 0, AS, made.signal)).toEqual([]);
  });

  it("pictures: one hop to another host without the token, and no second one", async () => {
    const seen: { url: string; headers: Readonly<Record<string, string>> }[] = [];
    const png = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
    const fetch = (real: StreamingFetch): StreamingFetch =>
      Object.assign(
        async (url: string, init = {}) => {
          seen.push({ url, headers: (init as { headers?: Record<string, string> }).headers ?? {} });
          const { host } = new URL(url);
          const answer = { statusText: "", url, truncated: false, text: () => "" };
          if (host === "pictures.example") return { ...answer, status: 200, headers: { "content-type": "image/png" }, body: png };
          if (host === "first.example") return { ...answer, status: 302, headers: { location: "https://second.example/a" }, body: new Uint8Array() };
          return real(url, init);
        },
        { stream: real.stream },
      );
    const made = await stage({ fetch });
    const { far, forge, signal, newest } = made;
    const issue = far.open("ann", "acme/app", "issue", { title: "t" });
    far.comment("ann", issue, far.upload("acme/app", "a", png, { redirect: "https://pictures.example/a.png" }));
    expect((await forge.download(forge.media(newest())[0]?.handle as string, AS, 1_000, signal)).type).toBe("image/png");
    far.comment("ann", issue, far.upload("acme/app", "b", png, { redirect: "https://first.example/a.png" }));
    await expect(forge.download(forge.media(newest())[0]?.handle as string, AS, 1_000, signal)).rejects.toThrow(/elsewhere/);
    expect(seen.filter(({ url }) => !url.startsWith(far.url)).map(({ url }) => url)).toEqual(["https://pictures.example/a.png", "https://first.example/a.png"]);
    for (const { url, headers } of seen) if (url.includes("signed-images") || !url.startsWith(far.url)) expect(JSON.stringify(headers)).not.toContain("ghp_");
  });

  it("pictures: an address of this network is not asked", async () => {
    const made = await stage();
    const elsewhere = await stranger();
    const issue = made.far.open("ann", "acme/app", "issue", { title: "t" });
    made.far.comment("ann", issue, made.far.upload("acme/app", "a", new Uint8Array(1), { redirect: `${elsewhere.url}/a.png` }));
    await expect(made.forge.download(made.forge.media(made.newest())[0]?.handle as string, AS, 1_000, made.signal)).rejects.toMatchObject({
      failure: "permanent",
    });
    expect(elsewhere.got).toEqual([]);
  });

  it("no error shows a token", async () => {
    const made = await stage({ app: true });
    const note = asked(made);
    const errors: string[] = [];
    for (const fault of [
      { kind: "status", status: 500 },
      { kind: "cut" },
      { kind: "limited" },
      { kind: "redirect", to: "http://127.0.0.1:1/" },
      { kind: "status", status: 401 },
    ] as const) {
      made.far.faults.next(fault, { path: "/comments" });
      await made.forge
        .post(note.place, "x", AS, { reply: note }, made.signal)
        .catch((error: Error) => errors.push(JSON.stringify([error, error.message, error.stack, error.cause])));
    }
    expect(errors).toHaveLength(4);
    expect(errors.join()).not.toMatch(/gh[sp]_|Bearer|eyJ/);
  });
});

describe("what the forge refuses", () => {
  it("throttled: says when to come back, longer each time where no header does", async () => {
    const made = await stage();
    const note = asked(made);
    const post = () => made.forge.post(note.place, "x", AS, { reply: note }, made.signal);
    made.far.faults.next({ kind: "limited", retryAfter: "7" });
    await expect(post()).rejects.toMatchObject({ failure: "retry", retryAfterMs: 7_000 });
    made.far.faults.next({ kind: "limited", status: 403, message: "You have exceeded a secondary rate limit." });
    await expect(post()).rejects.toMatchObject({ failure: "retry", retryAfterMs: 120_000 });
    await post();
    made.far.faults.next({ kind: "limited", status: 403, message: "You have exceeded a secondary rate limit." });
    await expect(post()).rejects.toMatchObject({ failure: "retry", retryAfterMs: 60_000 });
  });

  it("says of a write what may have happened", async () => {
    const made = await stage();
    const note = asked(made);
    const post = () => made.forge.post(note.place, "x", AS, { reply: note }, made.signal);
    for (const fault of [
      { kind: "status", status: 502 },
      { kind: "status", status: 502, after: true },
      { kind: "cut" },
      { kind: "cut", after: true },
    ] as const) {
      made.far.faults.next(fault);
      await expect(post()).rejects.toMatchObject({ failure: "unknown" });
    }
    expect(await made.forge.comments(note.place, note.createdAt, AS, made.signal)).toHaveLength(3);
    made.far.lock({ project: "acme/app", kind: "issue", id: note.place.id });
    await expect(post()).rejects.toMatchObject({ failure: "permanent", message: expect.stringContaining("locked") });
    await expect(made.forge.edit(note.place, "1", "x", AS, made.signal)).rejects.toMatchObject({ failure: "permanent" });
  });

  it("a lost right and a text that is too long are not tried again", async () => {
    const made = await stage();
    const note = asked(made);
    const { far, forge, signal } = made;
    await expect(forge.post(note.place, "a".repeat(70_000), AS, { reply: note }, signal)).rejects.toMatchObject({
      failure: "permanent",
      message: expect.stringContaining("too long"),
    });
    far.grant("acme/app", "helper-bot", "none");
    await expect(forge.post(note.place, "x", AS, { reply: note }, signal)).rejects.toMatchObject({ failure: "permanent" });
    await expect(forge.right(note.place.project, note.author, AS, signal)).resolves.toBe("none");
  });

  it("a token that counts no more is told with its setting", async () => {
    const made = await stage();
    const note = asked(made);
    made.far.revokeToken("ghp_helper");
    await expect(made.forge.post(note.place, "x", AS, { reply: note }, made.signal)).rejects.toMatchObject({ failure: "retry" });
    expect(made.refused).toEqual([expect.stringContaining("check channels.forge_b.token")]);
  });
});

describe("the App", () => {
  it("gets one token for many callers, for one repository and what is needed, and renews it early", async () => {
    const made = await stage({ app: true });
    const note = asked(made);
    const { far, forge, signal } = made;
    await Promise.all(Array.from({ length: 10 }, () => forge.post(note.place, "x", AS, { reply: note }, signal)));
    const tokens = far.requests.filter(({ path }) => path.endsWith("/access_tokens")).slice(1);
    expect(tokens.map(({ body }) => JSON.parse(Buffer.from(body).toString()))).toEqual([
      { repository_ids: [Number(note.place.project.id)], permissions: { metadata: "read", issues: "write", pull_requests: "write" } },
    ]);
    // 5 minutes before its end.
    far.skew = 3_600_000 - 299_000;
    await forge.post(note.place, "x", AS, { reply: note }, signal);
    expect(far.comments({ project: "acme/app", kind: "issue", id: note.place.id }).length).toBe(12);
  });

  it("renews a token that the forge took back, once", async () => {
    const made = await stage({ app: true });
    const note = asked(made);
    const { far, forge, signal } = made;
    await forge.post(note.place, "x", AS, { reply: note }, signal);
    far.faults.next({ kind: "status", status: 401 }, { path: "/comments" });
    await forge.post(note.place, "y", AS, { reply: note }, signal);
    expect(made.refused).toEqual([]);
    far.faults.next({ kind: "status", status: 401 }, { path: "/comments", times: 2 });
    await expect(forge.post(note.place, "z", AS, { reply: note }, signal)).rejects.toMatchObject({ failure: "retry" });
    expect(made.refused).toHaveLength(1);
  });

  it.each([300_000, -300_000])("works on a clock that is %i ms away, learnt from the forge's own", async (skew) => {
    const made = await stage({ app: true });
    const note = asked(made);
    made.far.skew = skew;
    const other = await stage({ app: true });
    other.far.skew = skew;
    await made.forge.post(note.place, "x", AS, { reply: note }, made.signal);
    expect(made.refused).toEqual([]);
  });

  it("asks for no more than its owner granted", async () => {
    const made = await stage({ app: true });
    const note = asked(made);
    const [installation] = made.far.app.installations.values();
    if (installation === undefined) throw new Error("not installed");
    installation.permissions = { metadata: "read", issues: "write" };
    await made.forge.post(note.place, "x", AS, { reply: note }, made.signal);
    const commit = made.far.commit("acme/app", "e".repeat(40));
    made.far.comment("ann", commit, "hm");
    await expect(made.forge.post(made.newest().place, "x", AS, {}, made.signal)).rejects.toMatchObject({
      failure: "permanent",
      message: expect.stringContaining("not accessible"),
    });
  });

  it.each([
    [{ privateKeyFile: "/nowhere/key.pem" }, /channels\.forge_b\.privateKeyFile: \/nowhere\/key\.pem cannot be read: ENOENT/],
    [{ privateKeyFile: new URL(import.meta.url).pathname }, /holds no RSA private key/],
    [
      { token: "", clientId: undefined, privateKeyFile: undefined, tokenFile: "/nowhere/token" },
      /channels\.forge_b\.tokenFile: \/nowhere\/token cannot be read/,
    ],
  ])("a file that cannot be read is named with its setting: %j", async (settings, message) => {
    await expect(stage({ app: true, settings: settings as never })).rejects.toThrow(message);
  });

  it("has failed deliveries sent again, each once a look", async () => {
    const made = await stage({ app: true });
    const { far, forge, signal } = made;
    far.comment("ann", far.open("ann", "acme/app", "issue", { title: "t" }), "missed");
    await far.hooks.release();
    expect(far.hooks.deliveries.map(({ status }) => status)).toEqual([0, 0]);
    for await (const _none of forge.changed({ list: "deliveries", since: Date.now() - 60_000 }, signal)) throw new Error("the list yields nothing");
    await far.hooks.settled();
    expect(far.hooks.deliveries.map(({ id }) => id).sort()).toEqual(
      far.hooks.deliveries
        .slice(0, 2)
        .flatMap(({ id }) => [id, id])
        .sort(),
    );
  });
});
