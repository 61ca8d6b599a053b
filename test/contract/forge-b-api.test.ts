import { describe, expect, it } from "vitest";
import { publishedApi } from "../kit/forge-b/published-api.ts";

const R = "/repos/o/r";
const SHA = "a".repeat(40);
const right: [string, unknown?][] = [
  ["GET /user"],
  ["GET /app"],
  ["GET /users/my-app%5Bbot%5D"],
  [`GET ${R}/collaborators/ann/permission`],
  [`POST ${R}/issues/1/comments`, { body: "words" }],
  [`PATCH ${R}/issues/comments/7`, { body: "words" }],
  [`POST ${R}/issues/comments/7/reactions`, { content: "eyes" }],
  [`POST ${R}/pulls/1/comments/7/replies`, { body: "words" }],
  [`POST ${R}/commits/${SHA}/comments`, { body: "words", path: "a.ts", position: 3 }],
  [`GET ${R}/issues/comments?since=2026-01-02T03:04:05Z&sort=updated&direction=asc&per_page=100`],
  ["POST /app/installations/5/access_tokens", { repository_ids: [1], permissions: { issues: "write" } }],
  ["GET /app/hook/deliveries?status=failure&per_page=100"],
  [`POST ${R}/issues/1/labels`, { labels: ["bug"] }],
  [`POST ${R}/pulls/1/reviews`, { commit_id: SHA, event: "COMMENT", body: "words", comments: [{ path: "a.ts", line: 3, side: "RIGHT", body: "words" }] }],
];
const wrong: [string, unknown, RegExp][] = [
  [`POST ${R}/issues/1/comments`, { text: "words" }, /body.*required|text is unknown/],
  [`POST ${R}/issues/1/comments`, { body: "words", internal: true }, /internal is unknown/],
  [`POST ${R}/issues/comments/7/reactions`, { content: "eye" }, /allowed values/],
  [`POST ${R}/pulls/1/reviews`, { event: "LGTM" }, /allowed values/],
  [`POST ${R}/pulls/1/reviews`, { event: "COMMENT", comments: [{ path: "a", line: 1, body: "b", own: 1 }] }, /own is unknown/],
  [`GET ${R}/issues/comments?since=yesterday`, undefined, /date-time/],
  [`GET ${R}/issues/x/comments`, undefined, /integer/],
  [`GET ${R}/issues/1/notes`, undefined, /no call/],
  [`GET ${R}/issues/comments?updated_after=1`, undefined, /unknown/],
  [`POST ${R}/pulls/1/comments`, { body: "b", path: "a" }, /commit_id/],
];

const judge = (line: string, body: unknown) => {
  const [method = "", address = ""] = line.split(" ");
  const { pathname, searchParams } = new URL(address, "http://far");
  return publishedApi().judge({ method, path: pathname, query: searchParams, body });
};

describe("the published API of forge_b", () => {
  it.each(right)("takes %s", (line, body) => expect(judge(line, body).problems).toEqual([]));
  it.each(wrong)("refuses %s %j", (line, body, reason) => expect(judge(line, body).problems.join("; ")).toMatch(reason));
});
