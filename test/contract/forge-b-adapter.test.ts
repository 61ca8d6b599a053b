import { afterEach, describe, expect, it } from "vitest";
import { AS, type Stage, type StageOptions, setStage } from "./forge-b-adapter.harness.ts";

const open: Stage[] = [];
afterEach(async () => {
  for (const stage of open.splice(0)) {
    expect(stage.far.violations).toEqual([]);
    await stage.close();
  }
});
const stage = async (options?: StageOptions) => {
  const made = await setStage(options);
  open.push(made);
  return made;
};

describe.each([{ app: false }, { app: true }])("forge_b as App $app", ({ app }) => {
  const me = app ? "svc-app[bot]" : "helper-bot";

  it("HOOK-09 knows by what it is mentioned from its token", async () => {
    const { forge } = await stage({ app });
    const [agent] = forge.agents({ id: "1", path: "acme/app", private: true });
    expect(agent).toMatchObject({ agent: "helper", names: [app ? "svc-app" : "helper-bot"], user: { login: me, bot: app }, shared: true });
  });

  it("answers a comment of an issue there, edits it and finds it again", async () => {
    const { far, forge, newest, signal } = await stage({ app });
    const issue = far.open("ann", "acme/app", "issue", { title: "It breaks" });
    far.comment("ann", issue, "@helper-bot fix");
    const note = newest();
    expect(note).toMatchObject({
      kind: "note",
      place: { kind: "issue", id: String(issue.id), project: { path: "acme/app", private: true } },
      title: "It breaks",
      text: "@helper-bot fix",
      edited: false,
      author: { login: "ann", bot: false },
    });
    const { id, url } = await forge.post(note.place, "an answer", AS, { reply: note }, signal);
    await forge.edit(note.place, id, "a better answer", AS, signal);
    expect(far.comments(issue).map(({ by, text }) => [by, text])).toEqual([
      ["ann", "@helper-bot fix"],
      [me, "a better answer"],
    ]);
    expect(url).toBe(forge.url(note.place, id));
    const found = await forge.comments(note.place, Date.now() - 60_000, AS, signal);
    expect(found.map((one) => one.text)).toEqual(["@helper-bot fix", "a better answer"]);
    expect(found[1]).toMatchObject({ id, author: { login: me } });
    await forge.eye(note.place, note, AS, signal);
    await forge.eye(note.place, note, AS, signal);
    expect(far.comments(issue)[0]?.reactions).toEqual([{ by: me, emoji: "eyes" }]);
  });

  it("answers in a review thread at its first comment, also when a reply was the question", async () => {
    const { far, forge, newest, signal } = await stage({ app });
    const request = far.open("ann", "acme/app", "request", { title: "A change" });
    const root = far.comment("ann", request, "why?", { position: { path: "src/a.ts", line: 3 } });
    far.comment("bob", { ...request, thread: String(root.id) }, "@helper-bot?");
    const note = newest();
    expect(note).toMatchObject({
      kind: "review-note",
      place: { kind: "request", thread: String(root.id), position: { path: "src/a.ts", line: 3, side: "new" } },
      request: { target: "main" },
    });
    const { id } = await forge.post(note.place, "because", AS, { reply: note }, signal);
    await forge.edit(note.place, id, "because of that", AS, signal);
    await forge.eye(note.place, note, AS, signal);
    const shown = far.comments({ ...request, thread: String(root.id) });
    expect(shown.map(({ by, text, reactions }) => [by, text, reactions.length])).toEqual([
      ["ann", "why?", 0],
      ["bob", "@helper-bot?", 1],
      [me, "because of that", 0],
    ]);
    expect((await forge.comments(note.place, 0, AS, signal)).map(({ text }) => text)).toEqual(["why?", "@helper-bot?", "because of that"]);
  });

  it("answers the words of a review below the request, led back by a link that edits keep", async () => {
    const { far, forge, newest, signal } = await stage({ app });
    const request = far.open("ann", "acme/app", "request", { title: "A change" });
    const review = far.review("ann", request, { text: "@helper-bot look" });
    const note = newest();
    expect(note).toMatchObject({ kind: "review", id: String(review.id), place: { kind: "request" }, title: "A change" });
    const { id } = await forge.post(note.place, "seen", AS, { reply: note }, signal);
    await forge.edit(JSON.parse(JSON.stringify(note.place)), id, "seen twice", AS, signal);
    await forge.eye(note.place, note, AS, signal);
    expect(far.comments(request).map(({ text }) => text)).toEqual([`In answer to [this review](${note.url}):\n\nseen twice`]);
    expect((await forge.comments(note.place, 0, AS, signal)).map(({ text }) => text)).toContain("@helper-bot look");
    far.editReview("ann", review.id, "@helper-bot look again");
    expect(newest()).toMatchObject({ kind: "review", edited: true, previousText: "@helper-bot look" });
  });

  it("answers on a commit, at the line that was asked about", async () => {
    const { far, forge, newest, signal } = await stage({ app });
    const commit = far.commit("acme/app", "c".repeat(40));
    far.comment("ann", commit, "@helper-bot what is this?", { position: { path: "a.ts", line: 7 } });
    const note = newest();
    expect(note).toMatchObject({ kind: "commit-note", place: { kind: "commit", id: "c".repeat(40), position: { path: "a.ts" } } });
    const { id } = await forge.post(note.place, "a bug", AS, { reply: note }, signal);
    await forge.edit(note.place, id, "a bug, mended", AS, signal);
    await forge.eye(note.place, note, AS, signal);
    expect(far.comments(commit).map(({ text, position }) => [text, position?.path])).toEqual([
      ["@helper-bot what is this?", "a.ts"],
      ["a bug, mended", "a.ts"],
    ]);
    expect(await forge.comments(note.place, 0, AS, signal)).toHaveLength(2);
  });

  it("tells the right of a person by the repository alone", async () => {
    const { far, forge, newest, signal } = await stage({ app });
    far.open("ann", "acme/app", "issue", { title: "t", text: "@helper-bot" });
    const { project } = newest().place;
    const right = (login: string) => forge.right(project, { id: "1", login }, AS, signal);
    expect(await Promise.all(["ann", "bob", "eve", "nobody"].map(right))).toEqual(["write", "report", "none", "none"]);
    far.addProject("acme/open", { members: { "helper-bot": "write", bob: "report" } });
    if (app) return;
    const open = { id: "2", path: "acme/open", private: false };
    expect([await forge.right(open, { id: "1", login: "bob" }, AS, signal), await forge.right(open, { id: "1", login: "eve" }, AS, signal)]).toEqual([
      "report",
      "none",
    ]);
  });

  it("reads a picture by its signed address, without the token", async () => {
    const { far, forge, newest, signal } = await stage({ app });
    const png = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2]);
    const issue = far.open("ann", "acme/app", "issue", { title: "t" });
    far.comment(
      "ann",
      issue,
      `@helper-bot ${far.upload("acme/app", "a.png", png)} ![other](https://elsewhere.example/user-attachments/assets/0a0a0a0a-0a0a-0a0a-0a0a-0a0a0a0a0a0a)`,
    );
    const media = forge.media(newest());
    expect(media).toHaveLength(1);
    expect(await forge.download(media[0]?.handle as string, AS, 1_000_000, signal)).toEqual({ data: Buffer.from(png), type: "image/png" });
    await expect(forge.download(media[0]?.handle as string, AS, 4, signal)).rejects.toMatchObject({ failure: "permanent" });
    far.comment("ann", issue, far.upload("acme/app", "b.png", png, { login: true }));
    await expect(forge.download(forge.media(newest())[0]?.handle as string, AS, 1_000_000, signal)).rejects.toThrow(/no picture/);
  });

  it("changes labels that there are, opens a request once, reviews", async () => {
    const { far, forge, newest, signal } = await stage({ app });
    const request = far.open("ann", "acme/app", "request", { title: "A change", labels: ["bug"] });
    const { place } = newest();
    await forge.label(place, { add: ["later"], remove: ["bug", "never there"] }, AS, signal);
    expect(far.item(request).labels).toEqual(["Later"]);
    await expect(forge.label(place, { add: ["new one"], remove: [] }, AS, signal)).rejects.toThrow(/no label new one/);
    const draft = { title: "Fix", text: "words", source: "fix", target: "main" };
    const first = await forge.openRequest(place.project, draft, AS, signal);
    expect(await forge.openRequest(place.project, { ...draft, title: "Again" }, AS, signal)).toEqual(first);
    const review = await forge.review(place, { verdict: "request_changes", text: "no", comments: [{ path: "a.ts", line: 2, text: "here" }] }, AS, signal);
    expect(review.url).toContain(`#pullrequestreview-${review.id}`);
  });

  it("finds what was missed, each once", async () => {
    const { far, forge, signal } = await stage({ app });
    far.hooks.switch(false);
    const before = Date.now() - 1_000;
    const issue = far.open("ann", "acme/app", "issue", { title: "t", text: "@helper-bot in words" });
    const request = far.open("ann", "acme/app", "request", { title: "r", text: "" });
    far.comment("ann", issue, "one");
    far.comment("ann", request, "two");
    far.comment("ann", request, "three", { position: { path: "a.ts", line: 1 } });
    far.review("ann", request, { text: "four" });
    far.comment("ann", far.commit("acme/app", "d".repeat(40)), "five");
    far.comment("ann", issue, "long ago", { at: before - 3_600_000 });
    const [project] = await forge.projects(signal);
    const found: string[] = [];
    for (const { name, of } of forge.lists)
      for await (const note of forge.changed(
        { list: name, since: before, ...(of === "project" ? { project: app ? project : { id: "1", path: "acme/app", private: true } } : {}) } as never,
        signal,
      ))
        found.push(`${note.kind} ${note.place.kind} ${note.text}`);
    expect(found.sort()).toEqual([
      "commit-note commit five",
      "description issue @helper-bot in words",
      "description request ",
      "note issue one",
      "note request two",
      "review request four",
      "review-note request three",
    ]);
  });
});
