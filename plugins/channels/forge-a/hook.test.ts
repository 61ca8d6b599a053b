import type { ForgeEvent, ForgeNote } from "@svc/sdk";
import { describe, expect, it } from "vitest";
import { readHook } from "./hook.ts";
import { timeOf } from "./shapes.ts";

const HOME = "https://forge.test";
const NOW = Date.parse("2026-01-01T00:00:00Z");

const PROJECT = { id: 5, path_with_namespace: "grp/tool", visibility_level: 0 };
const USER = { id: 7, username: "ada", name: "Ada" };

/** A note on an issue as a forge of today tells it. */
const note = (given: object = {}, more: object = {}) => ({
  object_kind: "note",
  event_type: "note",
  user: USER,
  project: PROJECT,
  issue: { id: 92, iid: 17, title: "It breaks" },
  object_attributes: {
    id: 1241,
    note: "@my-agent look",
    noteable_type: "Issue",
    author_id: 7,
    created_at: "2015-05-17 17:06:40 UTC",
    updated_at: "2015-05-17 17:06:40 UTC",
    discussion_id: "a1b2c3d4e5f6",
    action: "create",
    type: null,
    ...given,
  },
  ...more,
});

function only(event: ForgeEvent): ForgeNote {
  if (event.kind !== "notes" || event.notes.length !== 1) throw new Error(`it is ${JSON.stringify(event)}`);
  return event.notes[0] as ForgeNote;
}
const read = (body: unknown) => readHook(body, HOME, NOW);

describe("notes", () => {
  it("on an issue: where, who, when, in which discussion", () => {
    expect(only(read(note()))).toEqual({
      place: { project: { id: "5", path: "grp/tool", private: true }, kind: "issue", id: "17", thread: "a1b2c3d4e5f6" },
      kind: "note",
      id: "1241",
      author: { id: "7", login: "ada" },
      text: "@my-agent look",
      createdAt: Date.parse("2015-05-17T17:06:40Z"),
      updatedAt: Date.parse("2015-05-17T17:06:40Z"),
      edited: false,
      url: "https://forge.test/grp/tool/-/issues/17#note_1241",
      title: "It breaks",
    });
  });

  it("at a line of a diff, on the new side or the old one, with the branches of the request", () => {
    const position = { new_path: "src/a.ts", old_path: "src/old.ts", new_line: 12, old_line: null, head_sha: "abc" };
    const request = { id: 7, iid: 1, title: "Topic", source_branch: "topic", target_branch: "main", source_project_id: 5, target_project_id: 5 };
    const diff = (given: object, subject: object = request) =>
      only(read(note({ noteable_type: "MergeRequest", type: "DiffNote", position, ...given }, { issue: undefined, merge_request: subject })));
    expect(diff({})).toMatchObject({
      kind: "review-note",
      place: { kind: "request", id: "1", position: { path: "src/a.ts", line: 12, side: "new", sha: "abc", raw: position } },
      request: { source: "topic", target: "main" },
    });
    expect(diff({}).request?.fork).toBeUndefined();
    expect(diff({ position: { ...position, new_line: null, old_line: 3 } }).place.position).toMatchObject({ path: "src/old.ts", line: 3, side: "old" });
    expect(diff({}, { ...request, source_project_id: 99 }).request).toEqual({ source: "topic", target: "main", fork: true });
    expect(diff({}, { ...request, source_project_id: undefined }).request?.fork).toBe(true);
    expect(diff({ type: "DiscussionNote", position: null }).kind).toBe("note");
  });

  it("on a commit, at the line that its code ends with", () => {
    const sha = "cfe32cf61b73a0d5e9f13e774abde7ff789b1660";
    const heard = only(
      read(
        note(
          { noteable_type: "Commit", line_code: "bec9703f_0_14", st_diff: { new_path: "six", old_path: "six" } },
          { issue: undefined, commit: { id: sha, title: "Add" } },
        ),
      ),
    );
    expect(heard).toMatchObject({ kind: "commit-note", place: { kind: "commit", id: sha, position: { path: "six", line: 14, side: "new" } }, title: "Add" });
  });

  it("confidential ones are told by another event and the same kind, and are internal", () => {
    expect(only(read(note({}, { event_type: "confidential_note" }))).place.internal).toBe(true);
    expect(only(read(note({ internal: true }))).place.internal).toBe(true);
    expect(only(read(note())).place.internal).toBeUndefined();
  });

  it("edits are told by their action, before 16.11 by their times, and by whom", () => {
    expect(only(read(note({ action: "update", updated_by_id: 9 })))).toMatchObject({ edited: true, editor: { id: "9", login: "" } });
    expect(only(read(note({ action: undefined, updated_at: "2015-05-17 17:06:41 UTC" }))).edited).toBe(false);
    expect(only(read(note({ action: undefined, updated_at: "2015-05-17 17:06:42 UTC" }))).edited).toBe(true);
    expect(only(read(note({ action: "update", updated_by_id: 7 }))).editor).toBeUndefined();
  });

  it("the author is who the id says; the name of somebody else is not taken for his", () => {
    expect(only(read(note({ author_id: 8 }))).author).toEqual({ id: "8", login: "" });
  });

  it("without a discussion, of the system, or on what cannot be answered", () => {
    expect(only(read(note({ discussion_id: undefined }))).place.thread).toBeUndefined();
    expect(only(read(note({ system: true }))).system).toBe(true);
    expect(read(note({ noteable_type: "Snippet" }, { snippet: { id: 1 } }))).toEqual({ kind: "ignored", reason: "kind note on Snippet" });
    expect(read(note({ action: "destroy" }))).toEqual({ kind: "ignored", reason: "action destroy" });
  });
});

describe("descriptions", () => {
  const item = (kind: string, given: object = {}, more: object = {}) => ({
    object_kind: kind,
    user: USER,
    project: PROJECT,
    object_attributes: {
      id: 301,
      iid: 23,
      title: "New",
      description: "@my-agent do",
      author_id: 7,
      created_at: "2026-01-02T03:04:05Z",
      updated_at: "2026-01-02T03:04:05.5Z",
      action: "open",
      ...given,
    },
    ...more,
  });

  it("of issues, work items and merge requests that are opened", () => {
    for (const kind of ["issue", "work_item"])
      expect(only(read(item(kind)))).toMatchObject({ kind: "description", id: "301", place: { kind: "issue", id: "23" }, edited: false });
    expect(only(read(item("merge_request", { source_branch: "a", target_branch: "b" })))).toMatchObject({ place: { kind: "request" }, text: "@my-agent do" });
  });

  it("edits of the text, with what it said before and who changed it; other changes start nothing", () => {
    const edit = { changes: { description: { previous: "do", current: "@my-agent do" } }, user: { id: 9, username: "bob" } };
    expect(only(read(item("issue", { action: "update" }, edit)))).toMatchObject({
      edited: true,
      previousText: "do",
      editor: { id: "9", login: "bob" },
      author: { id: "7", login: "" },
    });
    expect(only(read(item("issue", { action: "update", updated_by_id: 9 }, edit))).editor).toEqual({ id: "9", login: "bob" });
    expect(read(item("issue", { action: "update" }, { changes: { labels: {} } }))).toMatchObject({ kind: "ignored" });
    expect(read(item("merge_request", { action: "merge" }))).toEqual({ kind: "ignored", reason: "action merge" });
  });
});

describe("what is no payload", () => {
  it("other kinds are ignored with their name; what is none at all is refused with 400", () => {
    expect(read({ object_kind: "push" })).toEqual({ kind: "ignored", reason: "kind push" });
    expect(read({ event_name: "user_create" })).toEqual({ kind: "ignored", reason: "kind user_create" });
    const broken = [
      null,
      [],
      "note",
      7,
      {},
      { object_kind: "note" },
      note({ id: "7" }),
      note({ id: -1 }),
      note({}, { project: {} }),
      note({}, { issue: {} }),
      note({ author_id: null }, { user: null }),
    ];
    for (const body of broken) expect(() => read(body)).toThrow(expect.objectContaining({ status: 400 }));
  });

  it("hostile fields of any type never break it", () => {
    const values: readonly unknown[] = [null, 7, -1, "x", [], {}, true, "9".repeat(400), { toString: 1 }, "__proto__"];
    for (const key of Object.keys(note().object_attributes))
      for (const value of values) {
        try {
          read(note({ [key]: value }));
        } catch (error) {
          expect(error).toMatchObject({ status: 400 });
        }
      }
  });
});

describe("times", () => {
  it.each([
    ["2015-05-17 17:06:40 UTC", "2015-05-17T17:06:40Z"],
    ["2015-05-17T17:06:40Z", "2015-05-17T17:06:40Z"],
    ["2015-05-17T17:06:40.123Z", "2015-05-17T17:06:40.123Z"],
    ["2015-04-08T21:00:25-07:00", "2015-04-08T21:00:25-07:00"],
    ["2015-04-08 21:00:25 +0200", "2015-04-08T21:00:25+02:00"],
  ])("%s is read", (text, iso) => expect(timeOf(text)).toBe(Date.parse(iso)));
  it.each(["", "soon", "2015-13-45 17:06:40 UTC", 7, null])("%s is none", (text) => expect(timeOf(text)).toBeUndefined());
});
