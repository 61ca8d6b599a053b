import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { NO_POSTGRES } from "../kit/postgres.ts";
import { ask, type DaemonProcess } from "./daemon.harness.ts";
import { type Nodes, PATIENCE, startNodes } from "./nodes.harness.ts";

let nodes: Nodes;
beforeAll(async () => {
  if (NO_POSTGRES === undefined) nodes = await startNodes();
});
afterAll(() => nodes?.close());

describe.skipIf(NO_POSTGRES !== undefined)(`two daemons on one schema${NO_POSTGRES === undefined ? "" : `: ${NO_POSTGRES}`}`, { timeout: 90_000 }, () => {
  it("FAULT-01 FAULT-05 a node that is killed in a turn: the other one finishes the task, once, and its trace names both", async () => {
    const chat = "chat 1";
    await nodes.both();
    nodes.hold();
    const id = await nodes.send(await nodes.node("n1"), "hold on", chat);
    const waiting = await nodes.send(await nodes.node("n1"), "after it", chat);
    const { name, daemon, other } = await nodes.worker(id);
    await daemon.kill("SIGKILL");
    await vi.waitFor(() => expect(nodes.begun(id)).toMatchObject([{ node: name }, { node: other }]), PATIENCE);
    nodes.goOn();
    const done = await nodes.finished(await nodes.node(other), id);
    expect(done.response).toBe(`${other} did hold on`);
    expect(done.attempts).toBe(2);
    expect(done.steps).toContainEqual(
      expect.objectContaining({ name: "takeover", error: expect.stringContaining(`on node ${name} and resumed on node ${other}`) }),
    );
    expect((await nodes.finished(await nodes.node(other), waiting)).response).toBe(`${other} did after it`);
    const ended = nodes.noted().filter(({ at, taskId }) => at === "end" && [id, waiting].includes(taskId));
    expect(ended.map(({ text }) => text)).toEqual(["hold on", "after it"]);
  });

  it("a task is cancelled, followed up, listed and asked for its result at the other node", async () => {
    const chat = "chat 2";
    const [one, two] = await nodes.both();
    nodes.hold();
    const [id, next] = [await nodes.send(one, "hold 1", chat), await nodes.send(one, "hold 2", chat)];
    await vi.waitFor(() => expect(nodes.begun(id)).toHaveLength(1), PATIENCE);
    await vi.waitFor(async () => {
      const { running, queued } = (await ask<Record<"running" | "queued", { id: string }[]>>(two.port, "/api/tasks")).body;
      expect(running.map((task) => task.id)).toContain(id);
      expect(queued.map((task) => task.id)).toContain(next);
    }, PATIENCE);
    const { status, body } = await ask<{ taskId: string }>(two.port, `/api/tasks/${id}/followup`, { message: "more" });
    expect(status).toBe(200);
    expect((await ask(two.port, `/api/tasks/${next}/cancel`, {})).status).toBe(200);
    await vi.waitFor(async () => expect(await nodes.trace(one, next)).toMatchObject({ status: "error", errorKind: "cancelled" }), PATIENCE);
    expect((await ask(two.port, `/api/tasks/${id}/cancel`, {})).status).toBe(200);
    expect(await nodes.trace(two, id)).toMatchObject({ status: "error", errorKind: "cancelled" });
    await nodes.finished(two, body.taskId);
    expect((await ask(two.port, `/api/tasks/${id}/cancel`, {})).status).toBe(404);
    expect(nodes.begun(next)).toEqual([]);
  });

  it("RUN-07 each message of a collected turn is listed once at either node, wherever it came in", async () => {
    const daemons = await nodes.both();
    const [one, two] = daemons;
    nodes.hold();
    const first = await nodes.send(one, "hold 1", "chat c", "collects");
    await vi.waitFor(() => expect(nodes.begun(first)).toHaveLength(1), PATIENCE);
    const ids = [
      await nodes.send(one, "hold 2", "chat c", "collects"),
      await nodes.send(two, "3", "chat c", "collects"),
      await nodes.send(one, "4", "chat c", "collects"),
    ];
    const [lead = "", ...others] = ids;
    expect((await ask(one.port, `/api/tasks/${first}/cancel`, {})).status).toBe(200);
    const { daemon } = await nodes.worker(lead);
    type Lists = Record<"running" | "queued", { id: string; with?: string[] }[]>;
    const lists = async (at: DaemonProcess) => (await ask<Lists>(at.port, "/api/tasks")).body;
    expect((await lists(daemon)).running).toMatchObject([{ id: lead, with: others }]);
    await vi.waitFor(async () => {
      for (const at of daemons) {
        const { running, queued } = await lists(at);
        const told = [...running, ...queued].flatMap(({ id, with: more = [] }) => [id, ...more]);
        expect(told.toSorted()).toEqual(ids.toSorted());
      }
    }, PATIENCE);
    expect((await ask(two.port, `/api/tasks/${others[1]}/cancel`, {})).status).toBe(200);
    for (const id of ids) await vi.waitFor(async () => expect(await nodes.trace(one, id)).toMatchObject({ errorKind: "cancelled" }), PATIENCE);
    nodes.goOn();
  });

  it("FAULT-01 a conversation keeps its order, whichever node takes its messages, and an agent its turns side by side", async () => {
    const daemons = await nodes.both();
    const texts = Array.from({ length: 8 }, (_, n) => `message ${n}`);
    const chats = ["a", "b", "c", "d"].map((chat) => `in ${chat}`);
    const ids: string[] = [];
    await Promise.all(
      chats.map(async (chat) => {
        for (const [n, text] of texts.entries()) ids.push(await nodes.send(daemons[(n + chats.indexOf(chat)) % 2] as DaemonProcess, text, chat));
      }),
    );
    for (const id of ids) await nodes.finished(daemons[0] as DaemonProcess, id);
    for (const chat of chats) {
      const lines = nodes.noted().filter((line) => line.chat === chat);
      expect(lines.map(({ at, text }) => `${at} ${text}`)).toEqual(texts.flatMap((text) => [`begin ${text}`, `end ${text}`]));
    }
    let running = 0;
    let most = 0;
    for (const { at } of nodes.noted().filter(({ chat }) => chats.includes(chat))) most = Math.max(most, (running += at === "begin" ? 1 : -1));
    expect(most).toBeLessThanOrEqual(2);
  });

  it("FAULT-06 a node that stands still beyond its lease: the other one takes over, and what it does on waking counts for nothing", async () => {
    const chat = "chat 3";
    await nodes.both();
    nodes.hold();
    const id = await nodes.send(await nodes.node("n1"), "hold still", chat);
    const { name, daemon, other } = await nodes.worker(id);
    process.kill(daemon.pid, "SIGSTOP");
    await vi.waitFor(() => expect(nodes.begun(id)).toMatchObject([{ node: name }, { node: other }]), PATIENCE);
    nodes.goOn();
    process.kill(daemon.pid, "SIGCONT");
    expect((await nodes.finished(await nodes.node(other), id)).response).toBe(`${other} did hold still`);
    expect(await daemon.ended, daemon.said()).toBe(74);
    expect(await nodes.trace(await nodes.node(other), id)).toMatchObject({ response: `${other} did hold still`, attempts: 2 });
  });

  it("a node that ends in order gives what is unfinished to the other one, whose callers get the result", async () => {
    const chat = "chat 4";
    await nodes.both();
    nodes.hold();
    const id = await nodes.send(await nodes.node("n1"), "hold on", chat);
    const { name, daemon, other } = await nodes.worker(id);
    const waiting = await nodes.send(await nodes.node(other), "after it", chat);
    const asked = ask<{ reply: string }>((await nodes.node(other)).port, "/task", {
      agent: "held",
      message: "last",
      context: { channel: "http", chatId: chat },
    });
    asked.catch(() => {});
    process.kill(daemon.pid, "SIGTERM");
    await vi.waitFor(() => expect(nodes.begun(id)).toMatchObject([{ node: name }, { node: other }]), PATIENCE);
    nodes.goOn();
    for (const task of [id, waiting]) await nodes.finished(await nodes.node(other), task);
    expect((await asked).body.reply).toBe(`${other} did last`);
    expect(await daemon.ended, daemon.said()).toBe(0);
  });
});
