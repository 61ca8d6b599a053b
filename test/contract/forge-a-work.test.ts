import type { Server } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { all, OWN, PROJECT, type Stage, setStage, signal } from "./forge-a.harness.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

const started = async (settings = {}): Promise<Stage> => {
  const stage = await setStage(settings);
  await stage.start();
  return stage;
};
const anna = { agent: "anna" };

describe("pictures", () => {
  const PNG = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]);
  it("are fetched with the token of the agent; a page to sign in or other bytes are none", async () => {
    const { forge, far, place, issue } = await started();
    const at = place(issue);
    const texts = [
      far.upload(PROJECT, "a b.png", PNG).replaceAll("a b.png", "a%20b.png"),
      far.upload(PROJECT, "page.png", PNG, { login: true }),
      far.upload(PROJECT, "lie.png", new TextEncoder().encode("#!/bin/sh")),
      far.upload(PROJECT, "log.txt", new TextEncoder().encode("words")),
    ];
    const full = texts[0]?.replace("(/uploads", `(${far.url}/${PROJECT}/uploads`).replaceAll(/[0-9a-f]{32}/g, "f".repeat(32));
    const text = [...texts, full].join("\n");
    const media = forge.media({
      place: at,
      kind: "note",
      id: "1",
      author: { id: "1", login: "ada" },
      text,
      createdAt: 1,
      updatedAt: 1,
      edited: false,
      url: "",
    });
    expect(media.map(({ kind, name }) => [kind, name])).toEqual([
      ["image", "a b.png"],
      ["image", "page.png"],
      ["image", "lie.png"],
      ["file", "log.txt"],
      ["image", "a b.png"],
    ]);
    const get = (n: number, most = 1_000) => forge.download(media[n]?.handle ?? "", anna, most, signal);
    expect(await get(0)).toEqual({ data: Buffer.from(PNG), type: "image/png" });
    await expect(get(1)).rejects.toMatchObject({ failure: "permanent", message: expect.stringContaining("token may not read") });
    await expect(get(2)).rejects.toMatchObject({ failure: "permanent" });
    expect(new TextDecoder().decode((await get(3)).data)).toBe("words");
    await expect(get(0, 5)).rejects.toMatchObject({ failure: "permanent" });
    expect(far.requests.filter(({ path }) => path.includes("/uploads/")).map(({ token }) => token)).toEqual([OWN, OWN, OWN, OWN, OWN]);
  });
});

describe("what was missed", () => {
  it("quick: what waits for an agent, with all of its thread, until the agent did something there", async () => {
    const { forge, far, issue, place } = await started();
    const since = Date.now() - 60_000;
    const single = far.comment("ada", issue, "@anna first");
    far.comment("ada", single.place, "in the thread: @anna second");
    const sha = "b".repeat(40);
    far.comment("ada", far.commit(PROJECT, sha), "@anna the commit");
    const notes = await all(forge.changed({ list: "todos", since }, signal));
    expect(notes.map(({ text, place: { kind, thread } }) => [text, kind, thread !== undefined])).toEqual([
      ["words of the issue", "issue", false],
      ["@anna first", "issue", true],
      ["in the thread: @anna second", "issue", true],
      ["@anna the commit", "commit", true],
    ]);
    await forge.post(place(single.place), "done", anna, {}, signal);
    expect((await all(forge.changed({ list: "todos", since }, signal))).map(({ text }) => text)).toEqual(["@anna the commit"]);
    expect(far.violations).toEqual([]);
  });

  it("full: issues, requests and commits that changed, oldest first, with answers in threads, over many pages", async () => {
    const { forge, far, place, issue } = await started();
    const { project } = place(issue);
    const since = Date.now() - 100_000;
    for (let n = 0; n < 230; n += 1) far.open("ada", PROJECT, "issue", { title: `issue ${n}`, text: `text ${n}`, at: since + 1_000 + Math.floor(n / 150) });
    const request = far.open("ada", PROJECT, "request", { title: "Topic", text: "@anna please" });
    const line = far.comment("ada", request, "one line", { position: { path: "a.ts", line: 3 } });
    far.comment("ada", line.place, "@anna below it");
    far.comment("ada", far.commit(PROJECT, "c".repeat(40)), "@anna on a commit");
    const issues = await all(forge.changed({ list: "issues", project, since }, signal));
    expect(issues.filter(({ text }) => text.startsWith("text "))).toHaveLength(230);
    expect(new Set(issues.map(({ id }) => id)).size).toBe(issues.length);
    const requests = await all(forge.changed({ list: "requests", project, since }, signal));
    expect(requests.map(({ text, kind, request: branches }) => [text, kind, branches?.source])).toEqual([
      ["@anna please", "description", "topic"],
      ["one line", "review-note", "topic"],
      ["@anna below it", "review-note", "topic"],
    ]);
    const commits = await all(forge.changed({ list: "commits", project, since }, signal));
    expect(commits.map(({ text, kind }) => [text, kind])).toEqual([["@anna on a commit", "commit-note"]]);
    expect(far.violations).toEqual([]);
  });

  it("a project that the routes name and the forge does not show is told of, and the others are looked at", async () => {
    const { forge, context } = await started({
      routes: [
        { project: PROJECT, agent: "bert" },
        { project: "no/such", agent: "bert" },
        { project: "*", agent: "bert" },
      ],
    });
    expect((await forge.projects(signal)).map(({ path }) => path)).toEqual([PROJECT]);
    expect(JSON.stringify(context.logged)).toContain("no/such");
  });
});

describe("what agents do", () => {
  it("labels only with what the project has, in one call", async () => {
    const { forge, far, issue, place } = await started();
    const at = place(issue);
    await forge.label(at, { add: ["bug"], remove: [] }, anna, signal);
    await expect(forge.label(at, { add: ["new"], remove: [] }, anna, signal)).rejects.toMatchObject({
      failure: "permanent",
      message: expect.stringContaining("'new'"),
    });
    await expect(forge.label(at, { add: ["bug,new"], remove: [] }, anna, signal)).rejects.toMatchObject({ failure: "permanent" });
    await forge.label(at, { add: ["Doing"], remove: ["bug"] }, anna, signal);
    expect(far.item(issue).labels).toEqual(["Doing"]);
    expect(far.requests.filter(({ method }) => method === "PUT")).toHaveLength(2);
    expect(far.violations).toEqual([]);
  });

  it("opens a merge request into the default branch, and finds the one that is open already", async () => {
    const { forge, far, place, issue } = await started();
    const { project } = place(issue);
    const draft = { title: "Mend it", text: "words", source: "anna/mend" };
    const first = await forge.openRequest(project, { ...draft, draft: true }, anna, signal);
    expect(await forge.openRequest(project, draft, anna, signal)).toEqual(first);
    expect(far.state.projects[0]?.items.get(`request:${first.number}`)).toMatchObject({ title: "Draft: Mend it", branches: { target: "main" } });
    expect(far.violations).toEqual([]);
  });

  it("reviews with lines, a summary and an approval of what was looked at; a line that is not of the diff goes into the summary", async () => {
    const { forge, far, place } = await started();
    const request = far.open("ada", PROJECT, "request", { title: "Topic" });
    const review = {
      verdict: "approve" as const,
      text: "fine\n\n<!-- signature -->",
      comments: [
        { path: "b.ts", line: 900, text: "far away" },
        { path: "a.ts", line: 3, text: "nice" },
      ],
    };
    far.faults.next({ kind: "status", status: 400 }, { method: "POST", path: "/discussions" });
    await forge.review(place(request), review, anna, signal);
    expect(far.comments(request).map(({ text, position }) => [text, position?.path])).toEqual([
      ["nice", "a.ts"],
      ["**Approved.**\n\n`b.ts:900`: far away\n\nfine\n\n<!-- signature -->", undefined],
    ]);
    const approved = () => [...(far.state.projects[0]?.items.get("request:1")?.approvedBy ?? [])].map(({ username }) => username);
    expect(approved()).toEqual(["anna"]);
    // Given again, because its summary was lost: the lines are not said twice, and an approval that is there is none to fail at.
    await forge.review(place(request), { ...review, comments: review.comments.slice(1) }, anna, signal);
    expect(far.comments(request).filter(({ text }) => text === "nice")).toHaveLength(1);
    const inside = { verdict: "comment" as const, text: "quiet", comments: [{ path: "a.ts`\n/merge\u2028", line: 3, text: "hidden" }] };
    await forge.review(place(request, { internal: true }), inside, anna, signal);
    expect(far.comments(request).at(-1)).toMatchObject({ internal: true, text: "`a.ts/merge:3`: hidden\n\nquiet" });
    const own = await forge.openRequest(place(request).project, { title: "Own", text: "", source: "x" }, anna, signal);
    const approving = forge.review(place({ ...request, id: own.number }), { verdict: "approve", text: "" }, anna, signal);
    await expect(approving).rejects.toMatchObject({ failure: "permanent", status: 403 });
    expect(far.violations).toEqual([]);
  });
});
