import { createHmac, createSign } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { type ForgeBServer, startForgeB } from "../kit/forge-b/server.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const SECRET = "hook-secret";

async function stage(options?: Parameters<typeof startForgeB>[0]) {
  const far = await startForgeB(options);
  closing.push(() => far.close());
  const heard: { event: string; guid: string; body: string; signature: string }[] = [];
  const receiver = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { headers } = request;
    heard.push({ event: `${headers["x-github-event"]}`, guid: `${headers["x-github-delivery"]}`, body, signature: `${headers["x-hub-signature-256"]}` });
    response.writeHead(202).end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  closing.push(() => receiver.close());
  far.addUser("ann");
  far.addUser("helper");
  far.addToken("ghp_ann", "ann");
  far.addToken("ghp_helper", "helper");
  const project = far.addProject("acme/app", { private: true, members: { ann: "write", helper: "write" }, labels: ["bug"] });
  far.hooks.add(`http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`, SECRET);
  return { far, heard, project };
}

/** Any client: what it sends is what the API's own description says. */
async function ask(
  far: ForgeBServer,
  line: string,
  { token = "ghp_helper", body, headers }: { token?: string; body?: unknown; headers?: Record<string, string> } = {},
) {
  const [method = "", path = ""] = line.split(" ");
  const answer = await fetch(path.startsWith("http") ? path : far.url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, "user-agent": "any", ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  // biome-ignore lint/suspicious/noExplicitAny: a foreign client knows no types
  return { status: answer.status, headers: answer.headers, json: (text === "" ? undefined : JSON.parse(text)) as any };
}

function jwt(far: ForgeBServer, seconds = Math.floor(Date.now() / 1000), life = 540, issuer: unknown = far.app.clientId): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const content = `${part({ alg: "RS256", typ: "JWT" })}.${part({ iat: seconds - 60, exp: seconds + life, iss: issuer })}`;
  return `${content}.${createSign("RSA-SHA256").update(content).sign(far.app.privateKey, "base64url")}`;
}

const R = "/repos/acme/app";

describe("the far end of forge_b", () => {
  it("keeps comments of issues, and signs the raw bytes of its hooks", async () => {
    const { far, heard } = await stage();
    const issue = far.open("ann", "acme/app", "issue", { title: "It breaks", text: "words" });
    const made = await ask(far, `POST ${R}/issues/${issue.id}/comments`, { body: { body: "an answer" } });
    expect([made.status, made.json.user.login, made.json.body]).toEqual([201, "helper", "an answer"]);
    expect((await ask(far, `PATCH ${R}/issues/comments/${made.json.id}`, { body: { body: "better" } })).status).toBe(200);
    expect(far.comments(issue).map(({ text, by }) => [text, by])).toEqual([["better", "helper"]]);
    await far.hooks.settled();
    expect(heard.map(({ event, body }) => `${event} ${JSON.parse(body).action}`).sort()).toEqual([
      "issue_comment created",
      "issue_comment edited",
      "issues opened",
    ]);
    expect(JSON.parse(heard.find(({ body }) => body.includes('"edited"'))?.body as string).changes.body.from).toBe("an answer");
    for (const { body, signature } of heard) expect(signature).toBe(`sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`);
    expect(far.violations).toEqual([]);
  });

  it("answers in review threads at their first comment only, and on commits", async () => {
    const { far } = await stage();
    const request = far.open("ann", "acme/app", "request", { title: "A change" });
    const root = far.comment("ann", request, "why?", { position: { path: "a.ts", line: 3 } });
    const reply = await ask(far, `POST ${R}/pulls/${request.id}/comments/${root.id}/replies`, { body: { body: "because" } });
    expect([reply.status, reply.json.in_reply_to_id, reply.json.path]).toEqual([201, root.id, "a.ts"]);
    expect((await ask(far, `POST ${R}/pulls/${request.id}/comments/${reply.json.id}/replies`, { body: { body: "more" } })).status).toBe(404);
    const commit = far.commit("acme/app", "a".repeat(40));
    expect((await ask(far, `POST ${R}/commits/${commit.id}/comments`, { body: { body: "hm", path: "a.ts", position: 3 } })).status).toBe(201);
    expect((await ask(far, `POST ${R}/commits/${"b".repeat(40)}/comments`, { body: { body: "hm" } })).status).toBe(422);
  });

  it("takes an eye once: 201, then 200", async () => {
    const { far } = await stage();
    const note = far.comment("ann", far.open("ann", "acme/app", "issue", { title: "t" }), "@helper");
    const eye = () => ask(far, `POST ${R}/issues/comments/${note.id}/reactions`, { body: { content: "eyes" } });
    expect([(await eye()).status, (await eye()).status]).toEqual([201, 200]);
    expect(far.comments(note.place)[0]?.reactions).toEqual([{ by: "helper", emoji: "eyes" }]);
  });

  it("tells rights, and hides what one may not see", async () => {
    const { far } = await stage();
    far.addUser("bob");
    far.addToken("ghp_bob", "bob");
    far.addProject("acme/open", { members: { helper: "write", bob: "report" } });
    const right = async (repository: string, login: string) => (await ask(far, `GET /repos/${repository}/collaborators/${login}/permission`)).json?.permission;
    expect([await right("acme/app", "ann"), await right("acme/app", "bob"), await right("acme/open", "ann"), await right("acme/open", "bob")]).toEqual([
      "write",
      "none",
      "read",
      "read",
    ]);
    expect((await ask(far, `GET ${R}`, { token: "ghp_bob" })).status).toBe(404);
    expect((await ask(far, `GET ${R}`, { token: "ghp_wrong" })).status).toBe(401);
    expect((await ask(far, `GET ${R}/collaborators/nobody/permission`)).status).toBe(404);
  });

  it("refuses what the published API does not have, and counts it", async () => {
    const { far } = await stage();
    const { id } = far.open("ann", "acme/app", "issue", { title: "t" });
    expect((await ask(far, `POST ${R}/issues/${id}/comments`, { body: { body: "a", internal: true } })).status).toBe(422);
    expect((await ask(far, `GET ${R}/notes`)).status).toBe(404);
    expect(far.violations).toHaveLength(2);
    expect((await ask(far, `POST ${R}/issues/${id}/comments`, { body: { body: "a".repeat(65_537) } })).status).toBe(422);
    expect(far.comments({ project: "acme/app", kind: "issue", id })).toEqual([]);
  });

  it("pages with links, sorts by update and looks back to a time", async () => {
    const { far } = await stage();
    const issue = far.open("ann", "acme/app", "issue", { title: "t" });
    const start = Date.parse("2026-01-01T00:00:00Z");
    for (let minute = 0; minute < 5; minute += 1) far.comment("ann", issue, `${minute}`, { at: start + minute * 60_000 });
    const first = await ask(far, `GET ${R}/issues/comments?since=2026-01-01T00:01:00Z&sort=updated&direction=asc&per_page=3`);
    expect(first.json.map(({ body }: { body: string }) => body)).toEqual(["1", "2", "3"]);
    const next = /<([^>]+)>; rel="next"/.exec(first.headers.get("link") ?? "")?.[1] as string;
    expect((await ask(far, `GET ${next}`)).json.map(({ body }: { body: string }) => body)).toEqual(["4"]);
    far.faults.lag = 3_600_000;
    far.comment("ann", issue, "new");
    expect((await ask(far, `GET ${R}/issues/comments?per_page=100`)).json).toHaveLength(5);
  });

  it("gives tokens to its App for what it asks for, and for no longer than they last", async () => {
    const { far, project } = await stage({ tokenMs: 1_000 });
    const installation = far.install(["acme/app"]);
    const { id } = far.open("ann", "acme/app", "issue", { title: "t" });
    const tokens = `POST /app/installations/${installation.id}/access_tokens`;
    expect((await ask(far, "GET /app", { token: jwt(far) })).json.slug).toBe("svc-app");
    expect((await ask(far, `GET ${R}/installation`, { token: jwt(far) })).json.id).toBe(installation.id);
    const issued = await ask(far, tokens, { token: jwt(far), body: { repository_ids: [project.id], permissions: { issues: "write" } } });
    expect(issued.status).toBe(201);
    const { token } = issued.json;
    const made = await ask(far, `POST ${R}/issues/${id}/comments`, { token, body: { body: "as the App" } });
    expect([made.status, made.json.user.login, made.json.user.type]).toEqual([201, "svc-app[bot]", "Bot"]);
    expect((await ask(far, `POST ${R}/commits/${"a".repeat(40)}/comments`, { token, body: { body: "x" } })).status).toBe(403);
    far.skew = 2_000;
    expect((await ask(far, `GET ${R}`, { token })).status).toBe(401);
    for (const wrong of [jwt(far, undefined, 700), jwt(far, 1_700_000_000), jwt(far, undefined, undefined, "other"), `${jwt(far)}x`, "ghp_ann"])
      expect((await ask(far, tokens, { token: wrong })).status).toBe(401);
    far.skew = -120_000;
    expect((await ask(far, "GET /app", { token: jwt(far) })).json.message).toMatch(/Issued at/);
  });

  it("hands pictures out by their signed address, without a token", async () => {
    const { far } = await stage({ foreignPictures: true });
    const text = far.upload("acme/app", "a.png", new Uint8Array([1, 2, 3]));
    const note = far.comment("ann", far.open("ann", "acme/app", "issue", { title: "t" }), text);
    const shown = await ask(far, `GET ${R}/issues/comments/${note.id}`, { headers: { accept: "application/vnd.github.full+json" } });
    const address = /src="([^"]+)"/.exec(shown.json.body_html)?.[1] as string;
    expect(new URL(address).origin).not.toBe(far.url);
    expect([...new Uint8Array(await (await fetch(address)).arrayBuffer())]).toEqual([1, 2, 3]);
    expect((await fetch(address.replace(/jwt=../, "jwt=00"))).status).toBe(404);
    expect(far.violations).toEqual([]);
    await fetch(address, { headers: { authorization: "Bearer ghp_helper" } });
    expect(far.violations).toHaveLength(1);
  });

  it("tells of reviews, lists failed deliveries and sends them again under the same GUID", async () => {
    const { far, heard } = await stage();
    const request = far.open("ann", "acme/app", "request", { title: "A change" });
    const review = far.review("ann", request, { text: "@helper look", comments: [{ path: "a.ts", line: 1, body: "here" }] });
    far.editReview("ann", review.id, "@helper look again");
    await far.hooks.settled();
    expect(heard.map(({ event }) => event).sort()).toEqual(["pull_request", "pull_request_review", "pull_request_review", "pull_request_review_comment"]);
    far.hooks.add("http://127.0.0.1:9/closed", SECRET);
    far.comment("ann", request, "lost");
    await far.hooks.settled();
    const failed = await ask(far, "GET /app/hook/deliveries?status=failure&per_page=100", { token: jwt(far) });
    expect(failed.json.map(({ event, status_code }: { event: string; status_code: number }) => [event, status_code])).toEqual([["issue_comment", 0]]);
    expect((await ask(far, `POST /app/hook/deliveries/${failed.json[0].id}/attempts`, { token: jwt(far) })).status).toBe(202);
    await far.hooks.settled();
    expect(far.hooks.deliveries.filter(({ id }) => id === failed.json[0].guid)).toHaveLength(2);
  });

  it("opens requests once, gives reviews, and changes labels", async () => {
    const { far } = await stage();
    const open = () => ask(far, `POST ${R}/pulls`, { body: { title: "Fix", head: "fix", base: "main", body: "words" } });
    const first = await open();
    expect([first.status, (await open()).status]).toEqual([201, 422]);
    expect((await ask(far, `GET ${R}/pulls?head=acme:fix&state=open`)).json).toHaveLength(1);
    expect((await ask(far, `POST ${R}/pulls/${first.json.number}/reviews`, { body: { event: "APPROVE" } })).status).toBe(422);
    expect((await ask(far, `POST ${R}/issues/${first.json.number}/labels`, { body: { labels: ["bug"] } })).json[0].name).toBe("bug");
    expect((await ask(far, `DELETE ${R}/issues/${first.json.number}/labels/bug`)).status).toBe(200);
  });

  it("fails as told: limited, before and after the effect, cut, elsewhere", async () => {
    const { far } = await stage();
    const issue = far.open("ann", "acme/app", "issue", { title: "t" });
    const post = () => ask(far, `POST ${R}/issues/${issue.id}/comments`, { body: { body: "x" } });
    far.faults.next({ kind: "limited", status: 403, retryAfter: "7", message: "You have exceeded a secondary rate limit." });
    const limited = await post();
    expect([limited.status, limited.headers.get("retry-after"), limited.json.message]).toEqual([403, "7", expect.stringContaining("secondary")]);
    far.faults.next({ kind: "status", status: 502 });
    expect((await post()).status).toBe(502);
    expect(far.comments(issue)).toHaveLength(0);
    far.faults.next({ kind: "status", status: 502, after: true });
    expect((await post()).status).toBe(502);
    far.faults.next({ kind: "cut", after: true });
    await expect(post()).rejects.toThrow();
    expect(far.comments(issue)).toHaveLength(2);
    far.faults.next({ kind: "link", to: "http://127.0.0.1:9/elsewhere" });
    expect((await ask(far, `GET ${R}/issues/${issue.id}/comments`)).headers.get("link")).toContain("elsewhere");
  });
});
