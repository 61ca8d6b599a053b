import { createHmac } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ForgeA, startForgeA } from "../kit/forge-a/server.ts";
import type { ForgePlace } from "../kit/forge-server.ts";

let forge: ForgeA;
let clock = Date.now();
let issue: ForgePlace;

beforeEach(async () => {
  clock = Date.now();
  forge = await startForgeA({ now: () => clock });
  for (const login of ["ada", "bob"]) forge.addUser(login);
  forge.addUser("my-agent", { bot: true });
  forge.addToken("glpat-agent", "my-agent");
  forge.addToken("glpat-reader", "my-agent", { scopes: ["read_api"] });
  forge.addProject("grp/sub/tool", { private: true, members: { ada: "write", "my-agent": "write" }, labels: ["bug", "Doing"] });
  issue = forge.open("ada", "grp/sub/tool", "issue", { title: "It breaks" });
});
const servers: Server[] = [];
afterEach(async () => {
  await forge.close();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** A foreign client: nothing but the platform's own words. */
async function call(method: string, path: string, body?: unknown, token = "glpat-agent") {
  const answer = await fetch(`${forge.url}/api/v4${path}`, {
    method,
    headers: { "private-token": token, ...(body === undefined ? {} : { "content-type": "application/json" }) },
    redirect: "manual",
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, body: answer.headers.get("content-type")?.includes("json") ? JSON.parse(text) : text };
}

/** A receiver of hooks that keeps what came. */
async function receiver(status: () => number = () => 202) {
  const got: { headers: NodeJS.Dict<string | string[]>; body: string }[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    got.push({ headers: request.headers, body });
    response.writeHead(status()).end();
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { got, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` };
}

const ISSUE = "/projects/grp%2Fsub%2Ftool/issues/1";

describe("the far end of forge_a", () => {
  it("knows who asks, by a token with the rights that the call needs", async () => {
    expect((await call("GET", "/user")).body).toMatchObject({ username: "my-agent", bot: true });
    expect((await call("GET", "/user", undefined, "wrong")).status).toBe(401);
    expect((await call("POST", `${ISSUE}/notes`, { body: "no" }, "glpat-reader")).status).toBe(403);
    forge.revokeToken("glpat-agent");
    expect((await call("GET", "/user")).status).toBe(401);
    expect(forge.violations).toEqual([]);
  });

  it("shows a private project to its members alone, with their access levels", async () => {
    const ada = forge.state.users.get("ada")?.id;
    const bob = forge.state.users.get("bob")?.id;
    expect((await call("GET", `/projects/grp%2Fsub%2Ftool/members/all/${ada}`)).body).toMatchObject({ access_level: 30 });
    expect((await call("GET", `/projects/grp%2Fsub%2Ftool/members/all/${bob}`)).status).toBe(404);
    forge.addToken("glpat-bob", "bob");
    expect((await call("GET", ISSUE, undefined, "glpat-bob")).status).toBe(404);
  });

  it("refuses keys and calls that its API does not have, and keeps them as violations", async () => {
    expect((await call("GET", `${ISSUE}/discussions?sorted=asc`)).status).toBe(400);
    expect((await call("POST", `${ISSUE}/notes`, { body: "x", text: "x" })).status).toBe(400);
    expect((await call("POST", `${ISSUE}/notes`, {})).status).toBe(400);
    expect((await call("PUT", ISSUE, { updated_at: "2026-01-01T00:00:00Z" })).status).toBe(400);
    expect((await call("GET", "/projects/1/issue_notes")).status).toBe(404);
    expect(forge.violations).toHaveLength(5);
  });

  it("an answer to a single comment makes a thread of it, and one to an internal note is internal", async () => {
    const single = forge.comment("ada", issue, "please look");
    expect((await call("GET", `${ISSUE}/discussions/${single.place.thread}`)).body.individual_note).toBe(true);
    expect((await call("POST", `${ISSUE}/discussions/${single.place.thread}/notes`, { body: "on it" })).body).toMatchObject({ type: "DiscussionNote" });
    const hidden = forge.comment("ada", issue, "for us", { internal: true });
    expect((await call("POST", `${ISSUE}/discussions/${hidden.place.thread}/notes`, { body: "quietly" })).body.internal).toBe(true);
    forge.setLevel("grp/sub/tool", "my-agent", 10);
    expect((await call("GET", `${ISSUE}/discussions/${hidden.place.thread}`)).status).toBe(404);
  });

  it("runs the commands in notes that come by its API, in ~~~ fences too, and says so as a violation", async () => {
    const request = forge.open("ada", "grp/sub/tool", "request", { title: "Topic" });
    const path = "/projects/grp%2Fsub%2Ftool/merge_requests/1/notes";
    expect((await call("POST", path, { body: "done\n /merge\n```\n/merge\n```" })).status).toBe(201);
    expect(forge.violations).toEqual([]);
    expect((await call("POST", path, { body: "~~~\n/merge\n~~~" })).status).toBe(201);
    expect(forge.item(request).state).toBe("merged");
    expect(forge.violations).toEqual(["a text by my-agent ran the command /merge"]);
    expect((await call("POST", path, { body: "/close" })).status).toBe(202);
  });

  it("the same award twice is 404, and a label that is not there is made, as a violation", async () => {
    const note = forge.comment("ada", issue, "@my-agent look");
    const award = `${ISSUE}/notes/${note.id}/award_emoji`;
    expect((await call("GET", "/todos?action=directly_addressed")).body).toHaveLength(1);
    expect((await call("POST", award, { name: "eyes" })).status).toBe(201);
    expect((await call("POST", award, { name: "eyes" })).status).toBe(404);
    expect((await call("GET", "/todos?action=directly_addressed")).body).toEqual([]);
    expect(forge.comments(issue)[0]?.reactions).toEqual([{ by: "my-agent", emoji: "eyes" }]);
    expect((await call("PUT", ISSUE, { add_labels: "bug,new", remove_labels: ["Doing"], state_event: "close" })).body).toMatchObject({
      labels: ["bug", "new"],
      state: "closed",
    });
    expect(forge.violations).toEqual(["a call made the label new in grp/sub/tool"]);
  });

  it("pages lists on its own origin", async () => {
    for (let n = 0; n < 5; n += 1) forge.comment("ada", issue, `number ${n}`);
    const first = await call("GET", `${ISSUE}/notes?per_page=2`);
    expect(first.body).toHaveLength(2);
    const next = /<([^>]+)>; rel="next"/.exec(first.headers.get("link") ?? "")?.[1] ?? "";
    expect(next).toBe(`${forge.url}/api/v4${ISSUE}/notes?per_page=2&page=2`);
    forge.faults.next({ kind: "link", to: "http://evil.test/next" });
    expect((await call("GET", `${ISSUE}/notes?per_page=100`)).headers.get("link")).toBe('<http://evil.test/next>; rel="next"');
  });

  it("sends hooks with a token, or signed; the notes of a review share an event id and have keys of their own", async () => {
    const token = await receiver();
    const signed = await receiver();
    const secret = `whsec_${Buffer.from("0123456789abcdef0123456789abcdef").toString("base64")}`;
    forge.hooks.add(token.url, "shared");
    forge.hooks.add(signed.url, secret, { signature: true });
    forge.review("ada", issue, ["one", "two"]);
    await forge.hooks.settled();
    expect(token.got.map(({ headers }) => headers["x-gitlab-token"])).toEqual(["shared", "shared"]);
    expect(new Set(token.got.map(({ headers }) => headers["x-gitlab-event-uuid"])).size).toBe(1);
    expect(new Set(token.got.map(({ headers }) => headers["idempotency-key"])).size).toBe(2);
    const { headers, body } = signed.got[0] as { headers: Record<string, string>; body: string };
    const key = Buffer.from(secret.slice(6), "base64");
    const digest = createHmac("sha256", key).update(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`).digest("base64");
    expect(headers["webhook-signature"]).toBe(`v1,${digest}`);
    expect(JSON.parse(body)).toMatchObject({ object_kind: "note", object_attributes: { note: "one", action: "create", discussion_id: expect.any(String) } });
  });

  it("tells of edits with the author of the note, and nothing of a deletion", async () => {
    const { got, url } = await receiver();
    forge.hooks.add(url, "s");
    forge.setLevel("grp/sub/tool", "bob", 40);
    const note = forge.comment("ada", issue, "first");
    forge.edit("bob", note.id, "second");
    forge.remove(note.id);
    await forge.hooks.settled();
    expect(got).toHaveLength(2);
    const edit = got.map(({ body }) => JSON.parse(body)).find(({ object_attributes }) => object_attributes.action === "update");
    expect(edit.user.username).toBe("ada");
    expect(edit.object_attributes.updated_by_id).toBe(forge.state.users.get("bob")?.id);
  });

  it("keeps deliveries back, turns them round, and sends them again under the same key or another", async () => {
    const { got, url } = await receiver();
    forge.hooks.add(url, "s");
    forge.hooks.hold();
    for (const text of ["1", "2", "3"]) forge.comment("ada", issue, text);
    expect(got).toEqual([]);
    await forge.hooks.release((kept) => kept.toReversed());
    expect(got.map(({ body }) => JSON.parse(body).object_attributes.note)).toEqual(["3", "2", "1"]);
    const [first] = forge.hooks.deliveries;
    if (first === undefined) throw new Error("nothing was sent");
    expect((await forge.hooks.redeliver(first)).id).toBe(first.id);
    expect((await forge.hooks.redeliver(first, { fresh: true })).id).not.toBe(first.id);
    forge.hooks.switch(false);
    forge.comment("ada", issue, "unheard");
    await forge.hooks.settled();
    expect(got).toHaveLength(5);
  });

  it("switches a hook off after four failures for a minute, then longer, and after forty for good", async () => {
    const { got, url } = await receiver(() => 500);
    forge.hooks.add(url, "s");
    const fail = async () => {
      forge.comment("ada", issue, "x");
      await forge.hooks.settled();
    };
    for (let n = 0; n < 6; n += 1) await fail();
    expect(got).toHaveLength(4);
    clock += 60_000;
    for (let n = 0; n < 3; n += 1) await fail();
    expect(got).toHaveLength(5);
    expect(forge.hooks.state).toEqual({ offUntil: clock + 120_000 });
    while (got.length < 40) {
      clock += 86_400_000;
      await fail();
    }
    expect(forge.hooks.state).toEqual({ offUntil: Number.POSITIVE_INFINITY });
  });

  it("fails by order: throttled, before and after the effect, cut, redirected, and slow to show", async () => {
    const notes = `${ISSUE}/notes`;
    forge.faults.next({ kind: "limited", retryAfter: "7" }, { method: "POST" });
    expect((await call("GET", notes)).status).toBe(200);
    const limited = await call("POST", notes, { body: "a" });
    expect([limited.status, limited.headers.get("retry-after")]).toEqual([429, "7"]);
    forge.faults.next({ kind: "status", status: 502 });
    expect((await call("POST", notes, { body: "b" })).status).toBe(502);
    expect(forge.comments(issue)).toHaveLength(0);
    forge.faults.next({ kind: "status", status: 502, after: true });
    expect((await call("POST", notes, { body: "c" })).status).toBe(502);
    forge.faults.next({ kind: "cut", after: true });
    await expect(call("POST", notes, { body: "d" })).rejects.toThrow();
    forge.faults.next({ kind: "cut" });
    await expect(call("POST", notes, { body: "e" })).rejects.toThrow();
    expect(forge.comments(issue).map(({ text }) => text)).toEqual(["c", "d"]);
    forge.faults.next({ kind: "redirect", to: "http://evil.test/" });
    expect((await call("GET", notes)).headers.get("location")).toBe("http://evil.test/");
    forge.faults.lag = 1_000;
    expect((await call("GET", notes)).body).toEqual([]);
    clock += 1_000;
    expect((await call("GET", notes)).body).toHaveLength(2);
  });

  it("gives pictures out by its API, or a page to sign in where it is told so", async () => {
    const markdown = forge.upload("grp/sub/tool", "a.png", new Uint8Array([1, 2, 3]));
    const path = /\((\/uploads\/[^)]+)\)/.exec(markdown)?.[1];
    const bytes = await fetch(`${forge.url}/api/v4/projects/grp%2Fsub%2Ftool${path}`, { headers: { "private-token": "glpat-agent" } });
    expect([...new Uint8Array(await bytes.arrayBuffer())]).toEqual([1, 2, 3]);
    const other = /\((\/uploads\/[^)]+)\)/.exec(forge.upload("grp/sub/tool", "b.png", new Uint8Array(1), { login: true }))?.[1];
    expect((await call("GET", `/projects/grp%2Fsub%2Ftool${other}`)).headers.get("location")).toBe(`${forge.url}/users/sign_in`);
    expect(await (await fetch(`${forge.url}/grp/sub/tool${path}`)).text()).toContain("Sign in");
    expect(forge.violations).toEqual([]);
  });
});
