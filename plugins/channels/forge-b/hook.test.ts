import type { ForgeNote } from "@svc/sdk";
import { describe, expect, it } from "vitest";
import { at, linkOf } from "./api.ts";
import { answeredError, isLimit, restOf } from "./failure.ts";
import { readHook } from "./hook.ts";
import plugin from "./index.ts";
import { issueNote } from "./notes.ts";
import { picturesIn } from "./pictures.ts";
import { checkSection, type Settings } from "./settings.ts";

const user = (login: string, id = 1, type = "User") => ({ login, id, type });
const repository = { id: 7, full_name: "acme/app", private: false };
const issue = {
  id: 70,
  number: 3,
  title: "It breaks",
  body: "words",
  user: user("ann"),
  created_at: "2026-01-01T00:00:00Z",
  updated_at: "2026-01-02T00:00:00Z",
  html_url: "https://github.com/acme/app/issues/3",
};
const comment = {
  id: 9,
  body: "@helper fix",
  user: user("ann"),
  created_at: "2026-01-01T00:00:00Z",
  updated_at: "2026-01-01T00:00:00Z",
  html_url: "https://github.com/acme/app/issues/3#issuecomment-9",
};
const read = (event: string, body: object) => readHook({ "x-github-event": event }, { repository, sender: user("ann"), ...body });

describe("hooks of forge_b", () => {
  it("tell of a new comment with its place and author", () => {
    expect(read("issue_comment", { action: "created", issue, comment })).toEqual({
      kind: "notes",
      notes: [
        {
          place: { project: { id: "7", path: "acme/app", private: false }, kind: "issue", id: "3" },
          kind: "note",
          id: "9",
          author: { id: "1", login: "ann", bot: false },
          text: "@helper fix",
          createdAt: Date.parse("2026-01-01T00:00:00Z"),
          updatedAt: Date.parse("2026-01-01T00:00:00Z"),
          edited: false,
          url: comment.html_url,
          title: "It breaks",
        },
      ],
    });
  });

  it("HOOK-07 name who edited somebody else's words, and what stood there", () => {
    const event = read("issue_comment", { action: "edited", issue, comment, sender: user("bob", 2), changes: { body: { from: "fix" } } });
    expect(event).toMatchObject({ kind: "notes", notes: [{ edited: true, previousText: "fix", author: { login: "ann" }, editor: { login: "bob" } }] });
  });

  it("HOOK-07 say that an author is a bot", () => {
    expect(read("issue_comment", { action: "created", issue, comment: { ...comment, user: user("dependabot[bot]", 5, "Bot") } })).toMatchObject({
      notes: [{ author: { bot: true } }],
    });
  });

  it("of a deleted comment name it, so that a queued run ends", () => {
    expect(read("issue_comment", { action: "deleted", issue, comment })).toMatchObject({
      kind: "deleted",
      place: { kind: "issue", id: "3" },
      note: { kind: "note", id: "9" },
    });
  });

  it("of a fork say so, and of one that is gone too", () => {
    const base = { ref: "main", repo: repository };
    const pull_request = { ...issue, base, head: { ref: "patch", repo: { ...repository, id: 8 } } };
    const forked = { place: { kind: "request" }, kind: "description", request: { source: "patch", target: "main", fork: true } };
    expect(read("pull_request", { action: "opened", pull_request })).toMatchObject({ notes: [forked] });
    expect(read("pull_request", { action: "opened", pull_request: { ...pull_request, head: { ref: "patch", repo: null } } })).toMatchObject({
      notes: [forked],
    });
    expect(read("pull_request", { action: "opened", pull_request: { ...pull_request, head: { ref: "own", repo: repository } } })).toMatchObject({
      notes: [{ request: { source: "own", target: "main" } }],
    });
  });

  it.each([
    ["issues", { action: "labeled", issue }, "action"],
    ["issues", { action: "edited", issue, changes: { title: { from: "old" } } }, "action"],
    ["pull_request_review", { action: "dismissed" }, "action"],
    ["discussion_comment", { action: "created" }, "kind"],
    ["push", {}, "kind"],
    ["ping", { zen: "words" }, "ping"],
    ["constructor", {}, "kind"],
    ["issues", { action: "constructor", issue }, "action"],
  ])("start nothing: %s %j", (event, body, reason) => {
    expect(read(event, body)).toEqual({ kind: "ignored", reason });
  });

  it.each([
    ["no header", {}, {}],
    ["two that differ", { "x-github-event": "ping", "x-forge-event": "issues" }, {}],
    ["a list", { "x-github-event": "issues" }, []],
    ["nothing", { "x-github-event": "issues" }, null],
    ["no issue", { "x-github-event": "issues" }, { action: "opened", repository }],
    ["an issue that is a text", { "x-github-event": "issues" }, { action: "opened", repository, issue: "words" }],
    ["words that are a number", { "x-github-event": "issue_comment" }, { action: "created", repository, issue, comment: { ...comment, body: 7 } }],
  ])("that the forge never sends are refused as 400: %s", (_what, headers, body) => {
    expect(() => readHook(headers as never, body)).toThrow(expect.objectContaining({ status: 400 }));
  });
});

describe("what the API refuses", () => {
  const refused = (status: number, headers = {}, message = "") => ({ status, headers, body: { message } });
  it.each([
    [refused(429), true],
    [refused(403, { "x-ratelimit-remaining": "0" }), true],
    [refused(403, {}, "You have exceeded a secondary rate limit"), true],
    [refused(403, { "retry-after": "5" }), true],
    [refused(403, {}, "Resource not accessible by integration"), false],
    [refused(404), false],
  ])("is a limit or not: %j", (answer, limit) => expect(isLimit(answer)).toBe(limit));

  it("names how long to rest, whatever the header says", () => {
    const now = Date.parse("2026-01-01T00:00:00Z");
    const date = "Thu, 01 Jan 2026 00:10:00 GMT";
    expect(restOf(refused(429, { "retry-after": "7" }), 1, now)).toBe(7_000);
    expect(restOf(refused(429, { "retry-after": "999999999" }), 1, now)).toBe(3_600_000);
    expect(restOf(refused(429, { "retry-after": "-5" }), 1, now)).toBe(60_000);
    expect(restOf(refused(429), 3, now)).toBe(240_000);
    expect(restOf(refused(429), 30, now)).toBe(900_000);
    // Its clock is ten minutes ahead: the reset is held against it.
    expect(restOf(refused(403, { date, "x-ratelimit-remaining": "0", "x-ratelimit-reset": String((now + 660_000) / 1_000) }), 1, now)).toBe(60_000);
  });

  it("tells a call that may have happened from one that did not", () => {
    const failureOf = (status: number, writes: boolean) => answeredError("https://f", writes, refused(status), 1) as { failure?: string };
    expect([failureOf(502, true).failure, failureOf(502, false).failure, failureOf(422, true).failure, failureOf(401, true).failure]).toEqual([
      "unknown",
      "retry",
      "permanent",
      "retry",
    ]);
  });

  it("follows a link to the next page on its own origin only", () => {
    const own = '<https://f/x?page=2>; rel="next", <https://f/x?page=9>; rel="last"';
    expect([linkOf(own, "next", "https://f"), linkOf(own, "last", "https://f"), linkOf(undefined, "next", "https://f")]).toEqual([
      "https://f/x?page=2",
      "https://f/x?page=9",
      undefined,
    ]);
    for (const link of ['<https://evil/x>; rel="next"', '<http://f/x>; rel="next"', '<//evil>; rel="next"'])
      expect(() => linkOf(link, "next", "https://f")).toThrow(/elsewhere/);
  });
});

describe("pictures in a note", () => {
  const ID = "0a0a0a0a-0b0b-0c0c-0d0d-0e0e0e0e0e0e";
  const note = (text: string) =>
    ({ place: { project: { id: "7", path: "acme/app", private: false }, kind: "issue", id: "3" }, kind: "note", id: "9", text }) as ForgeNote;
  const found = (text: string) => picturesIn(note(text), ["https://github.com"]).map(({ name = "" }) => name);
  const url = `https://github.com/user-attachments/assets/${ID}`;

  it.each([
    [`![a cat](${url})`, ["a cat"]],
    [`![](<${url}>) and again ![x](${url})`, [""]],
    [`<img width="3" alt="a" src="${url}">`, [""]],
    [`<img src='${url}' />`, [""]],
    [`[a cat](${url})`, []],
    [url, []],
    ["![a](https://elsewhere.example/user-attachments/assets/0a0a0a0a-0b0b-0c0c-0d0d-0e0e0e0e0e0e)", []],
    [`![a](https://github.com@evil.example/user-attachments/assets/${ID})`, []],
    ["![a](https://github.com/acme/app/blob/main/a.png)", []],
    ["![a](://x) src=", []],
  ])("%s", (text, names) => expect(found(text)).toEqual(names));

  it("are at most eight", () => {
    const many = Array.from({ length: 20 }, (_, at) => `![p${at}](${url.replace("0a0a0a0a", (0x0a0a0a0a + at).toString(16).padStart(8, "0"))})`);
    expect(found(many.join(" "))).toHaveLength(8);
  });
});

describe("paths of calls", () => {
  it.each(["..", ".", ""])("never lead up: %j", (part) => expect(() => at("repos", "acme", part)).toThrow(/no name/));
  it("hold names as they are", () => expect(at("labels", "a/../b c")).toBe("/labels/a%2F..%2Fb%20c"));
  it("of a repository named as a part of addresses are read right", () => {
    const place = (html_url: string) =>
      issueNote({ id: "1", path: "acme/pull", private: false }, { ...comment, html_url, issue_url: "https://api/x/issues/3" }).place.kind;
    expect([place("https://github.com/acme/pull/issues/3#issuecomment-9"), place("https://github.com/acme/pull/pull/3#issuecomment-9")]).toEqual([
      "issue",
      "request",
    ]);
  });
});

describe("channels.forge_b", () => {
  const problems = (section: Settings) => checkSection({ enabled: true, ...section }, { agents: ["a"] }).map(({ path, message }) => `${path} ${message}`);
  it("is content with a token, a secret and a route", () => {
    expect(problems({ token: "t", webhookSecret: "s", routes: [{ repo: "*", agent: "a" }] })).toEqual([]);
  });
  it.each<[Settings, RegExp]>([
    [{ token: "t", routes: [{ repo: "*", agent: "a" }] }, /webhookSecret is not set/],
    [{ webhookSecret: "s", routes: [{ repo: "*", agent: "a" }] }, /there is none/],
    [{ webhookSecret: "s", clientId: "c", routes: [{ repo: "*", agent: "a" }] }, /privateKeyFile is missing/],
    [{ webhookSecret: "s", privateKeyFile: "k", routes: [{ repo: "*", agent: "a" }] }, /clientId is missing/],
    [{ webhookSecret: "s", token: "t" }, /no agent can be mentioned/],
    [{ webhookSecret: "s", token: "t", routes: [{ repo: "o/r", agent: "b" }] }, /names no agent.*'b'/],
    [{ webhookSecret: "s", agentMappings: [{ agentId: "a" }] }, /has no token/],
    [{ webhookSecret: "s", token: "t", tokenFile: "f", routes: [{ repo: "*", agent: "a" }] }, /tokenFile has no effect/],
  ])("says what is wrong: %j", (section, reason) => expect(problems(section).join("\n")).toMatch(reason));

  it("is a channel that its plugin provides", () => expect(plugin).toMatchObject({ kind: "channel", name: "forge-b" }));
});
