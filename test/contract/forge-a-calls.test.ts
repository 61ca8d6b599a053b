import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { all, COMMON, OWN, PROJECT, type Stage, setStage, signal, until } from "./forge-a.harness.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** Another host, which answers everything and keeps what it was sent. */
async function otherHost(body: string | Uint8Array = "[]") {
  const got: IncomingMessage["headers"][] = [];
  const server = createServer((request, response) => {
    got.push(request.headers);
    response.writeHead(200, { "content-type": "application/json" }).end(body);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { got, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const started = async (settings = {}): Promise<Stage> => {
  const stage = await setStage(settings);
  await stage.start();
  return stage;
};
const anna = { agent: "anna" };
const bert = { agent: "bert" };

describe("who the agents are", () => {
  it("HOOK-09 names come from the tokens at start; the common token serves agents that have none", async () => {
    const { forge, far } = await started();
    const [one, two] = forge.agents();
    expect(one).toMatchObject({ agent: "anna", names: ["anna"], user: { login: "anna", bot: true }, shared: false, token: "agentMappings[0].token" });
    expect(two).toMatchObject({ agent: "bert", names: ["bert", "svc"], user: { login: "svc" }, shared: false, token: "token" });
    expect(far.requests.filter(({ path }) => path === "/api/v4/user")).toHaveLength(2);
    expect(far.violations).toEqual([]);
  });

  it("routes say whom the common user stands for, the project's own before *", async () => {
    const { forge } = await started({
      agentMappings: [],
      routes: [
        { project: "*", agent: "bert" },
        { project: "Grp/sub/tool", agent: "carl" },
      ],
    });
    const project = { id: "1", path: PROJECT, private: true };
    expect(forge.agents(project).map(({ agent, names, shared }) => [agent, names, shared])).toEqual([["carl", ["svc"], true]]);
    expect(forge.agents({ ...project, path: "other" }).map(({ agent }) => agent)).toEqual(["bert"]);
  });

  it("agents that are named and live nowhere cannot be mentioned; one of another node can", async () => {
    const { forge } = await started({
      agentMappings: [
        { agentId: "nobody", forgeUsernames: ["nobody"] },
        { agentId: "far", forgeUsernames: ["far"], node: "attic" },
      ],
      routes: [{ project: "*", agent: "gone" }],
    });
    expect(forge.agents({ id: "1", path: PROJECT, private: true }).map(({ agent, node }) => [agent, node])).toEqual([["far", "attic"]]);
  });

  it("a note has the same stamp in a list as in its hook, which tells seconds", async () => {
    const { forge, far, issue, place } = await started();
    const note = far.comment("ada", issue, "@anna look", { at: Date.parse("2026-03-04T05:06:07.890Z") });
    const { project } = place(issue);
    const [listed] = (await all(forge.changed({ list: "issues", project, since: 0 }, signal))).filter(({ id }) => id === String(note.id));
    far.hooks.add("http://127.0.0.1:1/", "s");
    far.edit("ada", note.id, "@anna look");
    const hook = forge.read({}, JSON.parse(far.hooks.deliveries[0]?.body ?? ""));
    expect(listed?.createdAt).toBe(Date.parse("2026-03-04T05:06:07Z"));
    expect(hook.kind === "notes" && hook.notes[0]?.createdAt).toBe(listed?.createdAt);
  });

  it("a person's token is shared: the marker tells its comments apart, not the id", async () => {
    const stage = await setStage({ agentMappings: [{ agentId: "anna", token: "glpat-ada" }] });
    stage.far.addToken("glpat-ada", "ada");
    await stage.start();
    expect(stage.forge.agents()[0]).toMatchObject({ agent: "anna", names: ["ada"], shared: true });
  });

  it("a token that is refused takes the channel down and names its setting; once it counts, the channel is ready", async () => {
    const stage = await setStage({ token: "glpat-late", agentMappings: [{ agentId: "anna", forgeUsernames: ["anna"] }] });
    await stage.start();
    const [channel] = stage.context.registered.channels;
    expect(channel?.state).toBe("down");
    expect(channel?.reason).toContain("channels.forge_a.token");
    expect(channel?.reason).not.toContain("glpat-late");
    stage.far.addToken("glpat-late", "svc");
    await until(() => channel?.state === "ready");
    expect(stage.readied()).toBe(1);
  });

  it("remembers the users of its tokens over a start at which the forge is away", async () => {
    const first = await started();
    const { store } = first.context;
    await first.stop();
    const again = await setStage({}, { store });
    again.far.faults.next({ kind: "hang" }, { times: 100, path: "/user" });
    await again.start();
    expect(again.forge.agents()[0]).toMatchObject({ agent: "anna", user: { login: "anna" } });
  }, 20_000);
});

describe("comments", () => {
  it("HOOK-09 answers in the thread with the agent's own token, and puts the eye once", async () => {
    const { forge, far, issue, place } = await started();
    const note = far.comment("ada", issue, "@anna look");
    const at = place(note.place);
    const { id, url } = await forge.post(at, "here", anna, {}, signal);
    expect(url).toBe(`${far.url}/${PROJECT}/-/issues/1#note_${id}`);
    for (let twice = 0; twice < 2; twice += 1) await forge.eye(at, { kind: "note", id: String(note.id) }, anna, signal);
    await forge.edit(at, id, "here it is", anna, signal);
    expect(far.comments(note.place)).toMatchObject([
      { by: "ada", reactions: [{ by: "anna", emoji: "eyes" }] },
      { by: "anna", text: "here it is" },
    ]);
    await forge.post(at, "me too", bert, {}, signal);
    expect(far.comments(note.place).at(-1)?.by).toBe("svc");
    expect(new Set(far.requests.filter(({ method }) => method !== "GET").map(({ token }) => token))).toEqual(new Set([OWN, COMMON]));
    expect((await forge.comments(at, 0, anna, signal)).map(({ text }) => text)).toEqual(["@anna look", "here it is", "me too"]);
    expect(far.violations).toEqual([]);
  });

  it("answers a description by a plain note, which holds up no merge, a diff note at its line, a commit note under its commit", async () => {
    const { forge, far, place } = await started();
    const request = far.open("ada", PROJECT, "request", { title: "Topic", text: "@anna review" });
    const sha = "a".repeat(40);
    const commit = far.commit(PROJECT, sha);
    const first = await forge.post(place(request), "a description is answered", anna, {}, signal);
    await forge.edit(place(request), first.id, "edited", anna, signal);
    expect(far.state.notes.get(Number(first.id))?.individual).toBe(true);
    const line = far.comment("ada", request, "@anna this line", { position: { path: "src/a.ts", line: 7 } });
    await forge.post(place(line.place), "at the line", anna, {}, signal);
    const note = far.comment("ada", commit, "@anna this commit");
    await forge.eye(place(note.place), { kind: "commit-note", id: String(note.id) }, anna, signal);
    const last = await forge.post(place(note.place), "under the commit", anna, {}, signal);
    await forge.edit(place(note.place), last.id, "under it", anna, signal);
    expect(far.comments(request).map(({ text, position }) => [text, position?.line])).toEqual([
      ["edited", undefined],
      ["@anna this line", 7],
      ["at the line", 7],
    ]);
    expect(far.comments(commit).map(({ text }) => text)).toEqual(["@anna this commit", "under it"]);
    expect((await forge.comments(place(request), 0, anna, signal)).map(({ text }) => text)).toEqual(["edited", "@anna this line", "at the line"]);
    await forge.eye(place(request), { kind: "description", id: "1" }, anna, signal);
    expect(far.violations).toEqual([]);
  });

  it("an answer to an internal note is internal, in its discussion and without one", async () => {
    const { forge, far, issue, place } = await started();
    const note = far.comment("ada", issue, "@anna for us", { internal: true });
    await forge.post(place(note.place, { internal: true }), "quiet", anna, {}, signal);
    await forge.post(place(issue, { internal: true }), "as quiet", anna, {}, signal);
    expect(far.comments(issue).map(({ internal }) => internal)).toEqual([true, true, true]);
  });

  it("finds the discussion of a note that its hook did not name, and nothing of one that is gone", async () => {
    const { forge, far, issue, place } = await started();
    for (let n = 0; n < 120; n += 1) far.comment("ada", issue, `number ${n}`);
    const note = far.comment("ada", issue, "@anna look");
    const heard = { place: place(issue), kind: "note" as const, id: String(note.id), author: { id: String(far.state.users.get("ada")?.id), login: "" } };
    const times = { text: "x", createdAt: 1, updatedAt: 1, edited: false, url: "" };
    expect(await forge.complete({ ...heard, ...times }, anna, signal)).toMatchObject({ place: { thread: note.place.thread }, author: { login: "ada" } });
    far.remove(note.id);
    expect(await forge.complete({ ...heard, ...times }, anna, signal)).toBeUndefined();
  });

  it("says what a person may: write from developer on, report for guests, none for outsiders and who is not active", async () => {
    const { forge, far, place, issue } = await started();
    const { project } = place(issue);
    const user = (login: string) => ({ id: String(far.state.users.get(login)?.id), login });
    const rights: unknown[] = [];
    for (const level of [0, 5, 10, 15, 20, 30, 40, 50]) {
      far.setLevel(PROJECT, "mallory", level);
      rights.push(await forge.right(project, user("mallory"), anna, signal));
    }
    expect(rights).toEqual(["none", "none", "report", "report", "report", "write", "write", "write"]);
    expect(await forge.isBot(user("svc"), signal)).toBe(true);
    expect(await forge.isBot(user("ada"), signal)).toBe(false);
  });
});

describe("failures", () => {
  const post = ({ forge, place, issue }: Stage) => forge.post(place(issue), "x", anna, {}, signal);
  const failure = (work: Promise<unknown>) =>
    work.then(
      () => ({ failure: "none" }),
      (error: { failure?: string; retryAfterMs?: number; status?: number; message: string }) => error,
    );

  it.each([
    ["7", 7_000],
    [undefined, undefined],
    ["99999999999", 3_600_000],
    ["-5", undefined],
    ["soon", undefined],
    [new Date(Date.now() + 60_000).toUTCString(), expect.any(Number)],
  ])("429 with Retry-After %s rests so long", async (retryAfter, ms) => {
    const stage = await started();
    stage.far.faults.next({ kind: "limited", ...(retryAfter === undefined ? {} : { retryAfter }) });
    const error = await failure(post(stage));
    expect(error).toMatchObject({ failure: "retry", status: 429 });
    expect((error as { retryAfterMs?: number }).retryAfterMs).toEqual(ms);
  });

  it.each([
    [400, "permanent"],
    [401, "retry"],
    [403, "permanent"],
    [404, "permanent"],
    [409, "permanent"],
    [410, "permanent"],
    [422, "permanent"],
    [500, "unknown"],
    [502, "unknown"],
  ])("%i to a comment is %s", async (status, kind) => {
    const stage = await started();
    stage.far.faults.next({ kind: "status", status });
    expect(await failure(post(stage))).toMatchObject({ failure: kind, status });
    expect(stage.far.requests.filter(({ method }) => method === "POST")).toHaveLength(1);
  });

  it("a cut connection may have left a comment; a look that is cut may be repeated; a forge that is away got nothing", async () => {
    const stage = await started();
    stage.far.faults.next({ kind: "cut", after: true });
    expect(await failure(post(stage))).toMatchObject({ failure: "unknown" });
    expect(stage.far.comments(stage.issue)).toHaveLength(1);
    // A kept connection that breaks is tried once more by itself.
    stage.far.faults.next({ kind: "cut" }, { times: 2 });
    expect(await failure(stage.forge.comments(stage.place(stage.issue), 0, anna, signal))).toMatchObject({ failure: "retry" });
    await stage.far.close();
    expect(await failure(post(stage))).toMatchObject({ failure: "retry" });
  });

  it("a page of a proxy with status 200 is no answer", async () => {
    const stage = await started();
    stage.far.faults.next({ kind: "status", status: 200, body: new TextEncoder().encode("<html>log in</html>") });
    expect(await failure(post(stage))).toMatchObject({ failure: "unknown" });
  });

  it("a token that ends to count is reported once, with its setting, and the others go on", async () => {
    const stage = await started();
    stage.far.revokeToken(OWN);
    expect(await failure(post(stage))).toMatchObject({ failure: "retry", status: 401 });
    await failure(post(stage));
    await stage.forge.post(stage.place(stage.issue), "still here", bert, {}, signal);
    const told = stage.context.logged.filter(({ level }) => level === "error");
    expect(told).toHaveLength(1);
    expect(JSON.stringify(stage.context.logged)).not.toContain(OWN);
    expect(stage.context.registered.channels[0]?.state).toBe("ready");
    // The common token is no way round a right that the agent's own token lost.
    expect(stage.far.comments(stage.issue).map(({ by }) => by)).toEqual(["svc"]);
  });
});

describe("the token goes nowhere else", () => {
  it("not by a redirect of a look, nor of what writes", async () => {
    const { forge, far, place, issue } = await started();
    const other = await otherHost();
    far.faults.next({ kind: "redirect", to: `${other.url}/api/v4/x` }, { method: "GET" });
    await expect(forge.comments(place(issue), 0, anna, signal)).rejects.toMatchObject({ failure: expect.any(String) });
    far.faults.next({ kind: "redirect", to: `${other.url}/api/v4/x` }, { method: "POST" });
    await expect(forge.post(place(issue), "x", anna, {}, signal)).rejects.toMatchObject({ failure: "permanent" });
    expect(other.got).toEqual([]);
  });

  it("not by the next page of a list", async () => {
    const { forge, far, place, issue } = await started();
    const other = await otherHost();
    far.faults.next({ kind: "link", to: `${other.url}/api/v4/next` });
    await expect(forge.comments(place(issue), 0, anna, signal)).rejects.toMatchObject({ failure: "permanent" });
    expect(other.got).toEqual([]);
  });

  it("not by a picture that a note places elsewhere, and not behind the redirect of one", async () => {
    const { forge, far, place, issue } = await started();
    const other = await otherHost();
    const secret = "0".repeat(32);
    const note = (text: string) => ({
      place: place(issue),
      kind: "note" as const,
      id: "1",
      author: { id: "1", login: "ada" },
      text,
      createdAt: 1,
      updatedAt: 1,
      edited: false,
      url: "",
    });
    for (const text of [
      `![a](${other.url}/uploads/${secret}/a.png)`,
      `![a](//evil.test/uploads/${secret}/a.png)`,
      `![a](${far.url}.evil.test/${PROJECT}/uploads/${secret}/a.png)`,
    ])
      expect(forge.media(note(text))).toEqual([]);
    const moved = far.upload(PROJECT, "a.png", new Uint8Array(1), { redirect: `${other.url}/a.png` });
    const [media] = forge.media(note(moved));
    await expect(forge.download(media?.handle ?? "", anna, 1_000_000, signal)).rejects.toThrow();
    // This machine is no host for a picture, whoever sends us there; and no token came along.
    expect(other.got.filter((headers) => JSON.stringify(headers).includes("glpat"))).toEqual([]);
    expect(other.got).toEqual([]);
  });
});
