import { randomUUID } from "node:crypto";
import { channelError, choiceOf, type Delivery, type Message, type Store, svcError } from "@svc/sdk";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createFarEnd, type FarEnd, openWorld, until, type World } from "./deliver.harness.ts";

const open: World[] = [];
async function world(far: FarEnd, options?: Parameters<typeof openWorld>[1]): Promise<World> {
  const made = await openWorld(far, options);
  open.push(made);
  return made;
}
afterEach(async () => {
  vi.useRealTimers();
  for (const one of open.splice(0)) await one.close();
});

const CHOICES = [
  { id: "approve", label: "Approve" },
  { id: "reject", label: "Reject" },
];
const question = (more: Partial<Delivery> = {}): Omit<Delivery, "id"> => ({
  kind: "proactive",
  target: { channel: "acme", chat: "c1" },
  text: "Deploy?",
  choices: CHOICES,
  ...more,
});
const said = (text: string, more: Partial<Message> = {}): Message => ({ entry: "channel", channel: "acme", chat: "c1", sender: { id: "u1" }, text, ...more });
const pressed = (delivery: string, id: string, more: Partial<Message> = {}): Message => said(id, { choice: { delivery, id }, ...more });
const rows = ({ store }: World) => store.scope("core").collection("choices").count();

async function ask({ deliveries }: World, more: Partial<Delivery> = {}): Promise<string> {
  const { id, sent } = await deliveries.send(question(more));
  await sent;
  return id;
}

describe("K27 buttons", () => {
  it("a channel that has them gets them below the last part of the text, each with data that leads back to its delivery", async () => {
    const far = createFarEnd({ choices: true, maxChars: 40 });
    const one = await world(far);
    const id = await ask(one, { text: `${"word ".repeat(12)}\n\nDeploy?` });
    expect(far.buttons("c1")).toEqual([[], ["Approve", "Reject"]]);
    const buttons = far.calls.at(-1)?.out?.choices ?? [];
    expect(buttons.map(({ data }) => choiceOf(data))).toEqual(CHOICES.map((choice) => ({ delivery: id, id: choice.id })));
    expect(far.calls[0]?.out?.choices).toBeUndefined();
  });

  it("a pressed one counts in the chat that was asked, and nowhere else", async () => {
    const one = await world(createFarEnd({ choices: true }));
    const id = await ask(one);
    const { choices } = one.deliveries;
    expect(await choices.heard(pressed(id, "approve"))).toMatchObject({ choice: { delivery: id, id: "approve" } });
    const closed = { code: "SVC_CHOICE_CLOSED", status: 410 };
    await expect(choices.heard(pressed(id, "approve", { chat: "c2" }))).rejects.toMatchObject(closed);
    await expect(choices.heard(pressed(id, "approve", { channel: "other" }))).rejects.toMatchObject(closed);
    await expect(choices.heard(pressed(id, "delete-all"))).rejects.toMatchObject(closed);
    await expect(choices.heard(pressed("out_00000000-0000-0000-0000-000000000000", "approve"))).rejects.toMatchObject(closed);
    const elsewhere = await ask(one, { target: { channel: "acme", chat: "c1", account: "work" } });
    await expect(choices.heard(pressed(elsewhere, "approve", { account: "home" }))).rejects.toMatchObject(closed);
  });

  it("only those may press it who are asked", async () => {
    const one = await world(createFarEnd({ choices: true }));
    const id = await ask(one, { choosers: ["u1"] });
    await expect(one.deliveries.choices.heard(pressed(id, "approve", { sender: { id: "u2" } }))).rejects.toMatchObject({ code: "SVC_CHOICE_FOREIGN" });
    const { sender: _, ...nobody } = pressed(id, "approve");
    await expect(one.deliveries.choices.heard(nobody)).rejects.toMatchObject({ code: "SVC_CHOICE_FOREIGN" });
    expect(await one.deliveries.choices.heard(pressed(id, "approve"))).toHaveProperty("choice");
  });

  it("a number that is typed is an ordinary message where there are buttons", async () => {
    const one = await world(createFarEnd({ choices: true }));
    await ask(one);
    expect(await one.deliveries.choices.heard(said("1"))).toEqual(said("1"));
  });

  it("an answer that has grown gets them by an edit once it is whole, and loses them by another", async () => {
    const far = createFarEnd({ choices: true });
    const one = await world(far);
    const target = { channel: "acme", chat: "c1" };
    const text = `${"many words of an answer ".repeat(4)}and the end`;
    const stream = one.deliveries.open(target, "task_1", "a");
    stream?.text(text);
    await until(() => far.visible("c1").length === 1);
    await stream?.end();
    const answer: Delivery = { id: `out_${randomUUID()}`, kind: "reply", taskId: "task_1", target, text, choices: CHOICES };
    await one.store.scope("core").commit([...one.deliveries.ops(answer)]);
    one.deliveries.committed(answer);
    await until(() => far.buttons("c1")[0]?.length === 2);
    await one.deliveries.choices.close(answer.id, "Approved by Ada");
    await until(() => far.buttons("c1")[0]?.length === 0);
    expect(far.visible("c1")).toEqual([`${text}\n\nApproved by Ada`]);
  });

  it("files that go with a question stay when it is closed", async () => {
    const far = createFarEnd({ choices: true, maxMediaBytes: 1_000 });
    const one = await world(far);
    const id = await ask(one, { media: [{ kind: "file", name: "plan.txt", data: Buffer.from("plan") }] });
    expect(far.buttons("c1")).toEqual([["Approve", "Reject"], []]);
    await one.deliveries.choices.close(id, "Approved by Ada");
    await until(() => far.buttons("c1")[0]?.length === 0);
    expect(far.visible("c1")).toEqual(["Deploy?\n\nApproved by Ada", ""]);
    expect(far.calls.filter(({ call }) => call === "remove")).toEqual([]);
  });

  it("one that is pressed before the platform's answer was stored counts", async () => {
    const far = createFarEnd({ choices: true });
    let answer = () => {};
    far.after = () => new Promise((resolve) => (answer = resolve));
    const one = await world(far);
    const { id, sent } = await one.deliveries.send(question());
    await until(() => far.visible("c1").length === 1);
    expect(await one.deliveries.choices.heard(pressed(id, "reject"))).toHaveProperty("choice");
    answer();
    await sent;
  });
});

describe("K27 closing a question", () => {
  it("takes the buttons away and adds the words, once; who presses then is told how it ended", async () => {
    const far = createFarEnd({ choices: true });
    const one = await world(far);
    const id = await ask(one);
    expect(await one.deliveries.choices.close(id, "Approved by Ada.")).toBe(true);
    expect(await one.deliveries.choices.close(id, "Rejected by Bob.")).toBe(false);
    await until(() => far.buttons("c1")[0]?.length === 0);
    expect(far.visible("c1")).toEqual(["Deploy?\n\nApproved by Ada."]);
    await expect(one.deliveries.choices.heard(pressed(id, "reject"))).rejects.toThrow("This can no longer be answered here: Approved by Ada.");
  });

  it("of fifty at once one closes it", async () => {
    const far = createFarEnd({ choices: true });
    const one = await world(far);
    const id = await ask(one);
    const closed = await Promise.all(Array.from({ length: 50 }, (_, n) => one.deliveries.choices.close(id, `number ${n}`)));
    expect(closed.filter(Boolean)).toHaveLength(1);
    await until(() => far.visible("c1")[0] === `Deploy?\n\nnumber ${closed.indexOf(true)}`);
    expect(far.calls.filter(({ call }) => call === "edit")).toHaveLength(1);
  });

  it("before it was sent: it goes out as it ended, without buttons", async () => {
    const far = createFarEnd({ choices: true });
    const one = await world(far, { connected: false });
    const { id, sent } = await one.deliveries.send(question());
    expect(await one.deliveries.choices.close(id, "Rejected by Ada")).toBe(true);
    one.connect();
    await sent;
    expect(far.calls.map(({ call, text, out }) => [call, text, out?.choices])).toEqual([["send", "Deploy?\n\nRejected by Ada", undefined]]);
  });

  it("while it is being sent: the platform shows in the end that it is closed", async () => {
    const far = createFarEnd({ choices: true });
    let answer = () => {};
    far.after = (call) => (call === "send" ? new Promise<void>((resolve) => (answer = resolve)) : undefined);
    const one = await world(far);
    const { id, sent } = await one.deliveries.send(question());
    await until(() => far.visible("c1").length === 1);
    expect(await one.deliveries.choices.close(id, "Rejected by Ada")).toBe(true);
    answer();
    await sent;
    expect([far.visible("c1"), far.buttons("c1")]).toEqual([["Deploy?\n\nRejected by Ada"], [[]]]);
  });

  it("while the store does not take that it was sent: the platform shows in the end that it is closed, and the chat goes on", async () => {
    const far = createFarEnd({ choices: true });
    let fails = true;
    const through = (store: Store): Store => ({
      ...store,
      commit: (ops) =>
        fails && ops.some(({ op }) => op === "complete")
          ? Promise.reject(svcError("SVC_STORE_BUSY", "The database is used by another process."))
          : store.commit(ops),
    });
    const one = await world(far, { through });
    const { id, sent } = await one.deliveries.send(question());
    await until(() => far.buttons("c1")[0]?.length === 2);
    expect(await one.deliveries.choices.close(id, "Approved by Ada")).toBe(true);
    fails = false;
    await sent;
    expect([far.visible("c1"), far.buttons("c1")]).toEqual([["Deploy?\n\nApproved by Ada"], [[]]]);
    await (await one.deliveries.send({ kind: "proactive", target: question().target, text: "next" })).sent;
    expect(await one.deliveries.unsent("acme")).toBe(0);
  });

  it("where the platform has no edits the words are a message of their own that answers the question", async () => {
    const far = createFarEnd({ choices: true, editIntervalMs: 0 });
    const one = await world(far);
    const id = await ask(one);
    await one.deliveries.choices.close(id, "Approved by Ada");
    await until(() => far.visible("c1").length === 2);
    expect(far.visible("c1")).toEqual(["Deploy?", "Approved by Ada"]);
    expect(far.calls.at(-1)?.target.replyTo).toBe("m1");
  });

  it("words that a `deliver` tap withholds are not shown; the buttons go", async () => {
    const far = createFarEnd({ choices: true });
    const one = await world(far);
    const id = await ask(one);
    one.tap((delivery) => (delivery.text.includes("secret") ? { ...delivery, held: "no secrets" } : delivery));
    await one.deliveries.choices.close(id, "the secret");
    await until(() => far.buttons("c1")[0]?.length === 0);
    expect(far.visible("c1")).toEqual(["Deploy?"]);
  });

  it("what the platform refused for good is no question any more", async () => {
    const far = createFarEnd({ choices: true });
    far.fault = () => {
      throw channelError("permanent", "chat not found");
    };
    const one = await world(far);
    const { id, sent } = await one.deliveries.send(question());
    await expect(sent).rejects.toThrow();
    expect([await rows(one), await one.deliveries.choices.close(id)]).toEqual([0, false]);
  });
});

describe("K27 numbered lines", () => {
  it("stand below the text where a channel has no buttons, and a number is the answer", async () => {
    const far = createFarEnd();
    const one = await world(far);
    const id = await ask(one);
    expect(far.visible("c1")).toEqual(["Deploy?\n\n1. Approve\n2. Reject\n\nAnswer with the number."]);
    expect(far.calls[0]?.out?.choices).toBeUndefined();
    for (const text of ["2", " 2 ", "2.", "2)"])
      expect(await one.deliveries.choices.heard(said(text))).toMatchObject({ choice: { delivery: id, id: "reject" } });
    for (const text of ["3", "0", "12", "2 please", "two", "-1", ""]) expect(await one.deliveries.choices.heard(said(text))).toEqual(said(text));
  });

  it("count in that chat and thread alone, for those who are asked, in a message of a channel", async () => {
    const one = await world(createFarEnd({ threads: true }));
    await ask(one, { target: { channel: "acme", chat: "c1", thread: "t1" }, choosers: ["u1"] });
    const { choices } = one.deliveries;
    expect(await choices.heard(said("1", { thread: "t1" }))).toHaveProperty("choice");
    for (const other of [
      {},
      { thread: "t2" },
      { thread: "t1", chat: "c2" },
      { thread: "t1", channel: "b" },
      { thread: "t1", sender: { id: "u2" } },
      { thread: "t1", entry: "task" },
    ])
      expect(await choices.heard(said("1", other)), JSON.stringify(other)).not.toHaveProperty("choice");
    expect(await choices.heard(said("1", { thread: "t1", media: [{ kind: "image", handle: "x" }] }))).not.toHaveProperty("choice");
  });

  it("mean the newest open question, or the one that the answer quotes", async () => {
    const one = await world(createFarEnd());
    const first = await ask(one);
    const second = await ask(one, { text: "Restart?" });
    const { choices } = one.deliveries;
    const of = async (more: Partial<Message> = {}) => (await choices.heard(said("1", more))).choice?.delivery;
    expect(await of()).toBe(second);
    expect(await of({ replyTo: { platformId: "m1" } })).toBe(first);
    expect(await of({ replyTo: { platformId: "m99" } })).toBeUndefined();
    await choices.close(second, "done");
    expect(await of()).toBe(first);
    await choices.close(first);
    expect(await of()).toBeUndefined();
  });

  it("do not count before the question was sent, nor after its time", async () => {
    const one = await world(createFarEnd(), { connected: false });
    const { sent } = await one.deliveries.send(question({ choicesUntil: Date.now() + 60_000 }));
    expect(await one.deliveries.choices.heard(said("1"))).not.toHaveProperty("choice");
    one.connect();
    await sent;
    expect(await one.deliveries.choices.heard(said("1"))).toHaveProperty("choice");
    const late = await ask(one, { choicesUntil: Date.now() - 1 });
    const found = await one.deliveries.choices.heard(said("1"));
    expect(found.choice?.delivery).not.toBe(late);
    await expect(one.deliveries.choices.heard(pressed(late, "approve"))).rejects.toThrow(/too long ago/);
  });

  it("mean the newest however many are open", async () => {
    const one = await world(createFarEnd());
    for (let n = 0; n < 7; n += 1) {
      const newest = await ask(one, { text: `Question ${n}` });
      expect((await one.deliveries.choices.heard(said("1"))).choice?.delivery).toBe(newest);
    }
  });

  it("end with the question's time, also those that were shown while it was open", async () => {
    const one = await world(createFarEnd());
    const id = await ask(one, { choicesUntil: Date.now() + 60_000 });
    expect(await one.deliveries.choices.heard(said("1"))).toHaveProperty("choice");
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 61_000 });
    expect(await one.deliveries.choices.heard(said("1"))).not.toHaveProperty("choice");
    await expect(one.deliveries.choices.heard(pressed(id, "approve"))).rejects.toThrow(/too long ago/);
  });

  it("go when the question is closed, where the platform has edits", async () => {
    const far = createFarEnd();
    const one = await world(far);
    const id = await ask(one);
    await one.deliveries.choices.close(id, "Rejected by Ada");
    await until(() => far.visible("c1")[0] === "Deploy?\n\nRejected by Ada");
  });

  it("are not asked for where nothing comes in", async () => {
    const far = createFarEnd({ receives: false });
    const one = await world(far);
    await ask(one);
    expect(far.visible("c1")).toEqual(["Deploy?\n\n(Approve / Reject: this cannot be answered here.)"]);
    expect(await one.deliveries.choices.heard(said("1"))).toEqual(said("1"));
  });
});

describe("K27 over restarts", () => {
  it("buttons and numbers count in the process that finds the folder, and a question that was closed stays closed", async () => {
    const far = createFarEnd({ choices: true });
    const one = await world(far);
    const id = await ask(one);
    const gone = await ask(one, { text: "Restart?" });
    await one.deliveries.choices.close(gone, "done");
    await until(() => far.visible("c1").includes("Restart?\n\ndone"));
    const next = await one.crash();
    open.push(next);
    expect(await next.deliveries.choices.heard(pressed(id, "approve"))).toHaveProperty("choice");
    await expect(next.deliveries.choices.heard(pressed(gone, "approve"))).rejects.toMatchObject({ code: "SVC_CHOICE_CLOSED" });
    expect(await next.deliveries.choices.close(id, "after the restart")).toBe(true);
    await until(() => far.visible("c1").includes("Deploy?\n\nafter the restart"));
  });

  it("a closing that the platform has not heard of yet is told by the next process", async () => {
    const far = createFarEnd({ choices: true });
    const one = await world(far);
    const id = await ask(one);
    far.fault = () => {
      throw channelError("retry", "away", 60_000);
    };
    await one.deliveries.choices.close(id, "Approved by Ada");
    const next = await one.crash();
    open.push(next);
    far.fault = () => {};
    await until(() => far.visible("c1")[0] === "Deploy?\n\nApproved by Ada");
  });

  it("rows go a week after the question's time", async () => {
    const one = await world(createFarEnd());
    await ask(one, { choicesUntil: Date.now() - 8 * 86_400_000 });
    await ask(one);
    expect(await rows(one)).toBe(2);
    const next = await one.crash();
    open.push(next);
    expect(await rows(next)).toBe(1);
  });
});

describe("K27 what can be offered", () => {
  it("is judged before anything is stored", async () => {
    const one = await world(createFarEnd());
    await expect(one.deliveries.send(question({ choices: [] }))).rejects.toMatchObject({ code: "SVC_DELIVERY_CHOICES", status: 400 });
    await expect(one.deliveries.send(question({ choices: [{ id: "A B", label: "x" }] }))).rejects.toThrow(/the id 'A B'/);
    expect(await rows(one)).toBe(0);
  });

  it("an answer whose tap made choices of it that cannot be offered goes out without them", async () => {
    const far = createFarEnd({ choices: true });
    const one = await world(far);
    one.tap((delivery) => ({ ...delivery, choices: [{ id: "", label: "" }] }));
    await (await one.deliveries.send({ kind: "proactive", target: { channel: "acme", chat: "c1" }, text: "plain" })).sent;
    expect([far.visible("c1"), far.buttons("c1"), await rows(one)]).toEqual([["plain"], [[]], 0]);
  });

  it("a withheld question has no choices that count until it is released", async () => {
    const far = createFarEnd({ choices: true });
    const one = await world(far);
    one.tap((delivery) => ({ ...delivery, held: "wait" }));
    const { id } = await one.deliveries.send(question());
    await expect(one.deliveries.choices.heard(pressed(id, "approve"))).rejects.toMatchObject({ code: "SVC_CHOICE_CLOSED" });
    await one.deliveries.withheld.release(id);
    await until(() => far.buttons("c1").length === 1);
    expect(await one.deliveries.choices.heard(pressed(id, "approve"))).toHaveProperty("choice");
  });
});
