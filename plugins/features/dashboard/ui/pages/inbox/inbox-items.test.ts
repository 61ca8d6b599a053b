import { expect, it } from "vitest";
import { endedOf, itemsOf, keepPlaces, type Sources } from "./inbox-items.ts";
import type { Draft, Question, UserTask } from "./inbox-types.ts";
import { choicesOf, transitionsOf } from "./transitions.ts";

const at = (minute: number) => new Date(Date.UTC(2026, 4, 1, 10, minute)).toISOString();
const task = (id: string, more: Partial<UserTask> = {}): UserTask => ({
  id,
  kind: "userTask",
  runId: "run_1",
  workflowId: "release",
  step: "ask/1",
  title: id,
  assignee: "role:lead",
  form: { fields: [] },
  submitTransition: "out",
  state: "open",
  assignedAt: at(0),
  overdue: false,
  history: [],
  ...more,
});
const question = (id: string, more: Partial<Question> = {}): Question => ({
  id,
  kind: "job",
  title: id,
  digest: "d",
  requestedBy: "agent ada",
  choices: [
    { id: "approve", label: "Approve" },
    { id: "reject", label: "Reject", rejects: true },
  ],
  askedAt: Date.parse(at(5)),
  expiresAt: Date.parse(at(50)),
  state: "open",
  ...more,
});
const draft: Draft = { definition: { id: "nightly" }, file: "_drafts/nightly.yaml", problems: [], updatedAt: at(1) };
const keys = (sources: Partial<Sources>) => itemsOf({ tasks: [], questions: [], drafts: [], ...sources }).map(({ key, kind }) => `${kind} ${key}`);

it("requests are ordered by need: due ones by their time, then what something stands still for, then the rest, what was put off at the end", () => {
  const tasks = [
    task("plain"),
    task("soon", { dueAt: at(10) }),
    task("late", { dueAt: at(2), kind: "approval" }),
    task("broken", { kind: "incident", assignedAt: at(1) }),
  ];
  const questions = [question("job"), question("engine", { taskId: "t1" }), question("off", { laterAt: Date.parse(at(9)) })];
  expect(keys({ tasks, questions, drafts: [draft] })).toEqual([
    "approval task:late",
    "task task:soon",
    "task task:plain",
    "question task:broken",
    "question question:engine",
    "draft draft:nightly",
    "approval question:job",
    "approval question:off",
  ]);
});

it("a task that is asked on chats too stands in the list once, and knows that it was put off", () => {
  const mirror = question("q1", { kind: "workflow-task", key: "plain@3", laterAt: Date.parse(at(30)) });
  expect(keys({ tasks: [task("plain")], questions: [mirror] })).toEqual(["task task:plain"]);
  expect(itemsOf({ tasks: [task("plain")], questions: [mirror], drafts: [] })[0]).toMatchObject({ laterAt: Date.parse(at(30)), question: { id: "q1" } });
});

it("ended requests are listed newest first", () => {
  const tasks = [task("one", { state: "completed", completedAt: at(3) }), task("two", { state: "canceled", completedAt: at(4) }), task("open")];
  const questions = [question("q", { state: "rejected", decision: { id: "q", kind: "job", digest: "d", state: "rejected", at: Date.parse(at(5)) } })];
  expect(endedOf({ tasks, questions, drafts: [] }).map(({ key }) => key)).toEqual(["question:q", "task:two", "task:one"]);
});

it("a list that is looked at again keeps its places: what is over stays, what is new comes behind", () => {
  const before = itemsOf({ tasks: [task("a", { dueAt: at(9) }), task("b")], questions: [], drafts: [] });
  const after = itemsOf({ tasks: [task("b"), task("new", { dueAt: at(1) })], questions: [], drafts: [] });
  expect(keepPlaces(before, after).map(({ key, open }) => [key, open])).toEqual([
    ["task:a", false],
    ["task:b", true],
    ["task:new", true],
  ]);
});

it("the buttons of a task are its transitions by their own names; what rejects is never the first", () => {
  const decided = task("t", {
    form: {
      fields: [
        { name: "verdict", kind: "select", options: ["reject", { value: "ship", label: "Ship it" }, "ask-for-changes"] },
        { name: "why", kind: "text" },
      ],
    },
    submitTransition: "{{ values.verdict }}",
  });
  const { buttons, fields } = transitionsOf(decided, []);
  expect(buttons.map(({ label, rejects, values }) => [label, rejects, values])).toEqual([
    ["Ship it", false, { verdict: "ship" }],
    ["Ask for changes", false, { verdict: "ask-for-changes" }],
    ["Reject", true, { verdict: "reject" }],
  ]);
  expect(fields.map(({ name }) => name)).toEqual(["why"]);
  const ways = [
    { from: "ask", fromPort: "no" },
    { from: "ask", fromPort: "yes" },
    { from: "ask", fromPort: "timeout" },
    { from: "other", fromPort: "x" },
  ];
  expect(transitionsOf(task("t"), ways).buttons).toEqual([
    { id: "yes", label: "Yes", rejects: false, transition: "yes" },
    { id: "no", label: "No", rejects: true, transition: "no" },
  ]);
  expect(transitionsOf(task("t"), [{ from: "ask" }]).buttons).toEqual([{ id: "submit", label: "Submit", rejects: false }]);
  expect(transitionsOf(task("t", { submitTransition: "done" }), []).buttons.map(({ label, transition }) => [label, transition])).toEqual([["Done", undefined]]);
  expect(transitionsOf(task("t", { submitTransition: "{{ values.a > 3 ? 'x' : 'y' }}" }), ways).buttons.map(({ label }) => label)).toEqual(["Submit"]);
  // "Notify" is no "no".
  expect(transitionsOf(task("t", { submitTransition: "notify" }), []).buttons[0]?.rejects).toBe(false);
});

it("a question with many options of a field keeps it in the form, and choices that reject come last", () => {
  const many = task("t", { form: { fields: [{ name: "v", kind: "select", options: ["a", "b", "c", "d", "e", "f"] }] }, submitTransition: "{{ values.v }}" });
  expect(transitionsOf(many, []).fields).toHaveLength(1);
  expect(
    choicesOf({
      choices: [
        { id: "no", label: "Drop it", rejects: true },
        { id: "yes", label: "Send it" },
      ],
    }).map(({ label }) => label),
  ).toEqual(["Send it", "Drop it"]);
});
