import { describe, expect, it } from "vitest";
import { bearer, collect, frames, json, REMOTE } from "../http.harness.ts";
import { asJson, servedKernel } from "./kernel.harness.ts";

const at = servedKernel();

describe("POST /task", () => {
  it("API-01 streams what happens and ends with the result; JSON is that result alone", async () => {
    const response = await fetch(`${at.server.url}/task`, json({ agent: "echo", message: "hello" }));
    expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
    const got = await collect(frames(response));
    expect(got.map(([name]) => name)).toEqual(["accepted", "started", "text", "done"]);
    expect(got[0]?.[1]).toEqual({ taskId: "task_1", rootId: "root" });
    expect(got[2]?.[1]).toEqual({ text: "hello" });
    const result = { ok: true, taskId: "task_1", agent: "echo", reply: "hello", status: "ok", durationMs: 1 };
    expect(got.at(-1)?.[1]).toEqual(result);
    expect(await at.call("/task", json({ agent: "echo", message: "hello" }, asJson))).toMatchObject({ status: 200, body: { ...result, taskId: "task_2" } });
    for (const accept of ["*/*", "text/event-stream", "application/json, text/event-stream"]) {
      expect((await fetch(`${at.server.url}/task`, json({ agent: "echo", message: "x" }, { accept }))).headers.get("content-type"), accept).toContain(
        "event-stream",
      );
    }
  });

  it("API-02 each frame is there when it happens, not when the task ends", async () => {
    const stream = frames(await fetch(`${at.server.url}/task`, json({ agent: "slow", message: "go" })));
    expect((await stream.next()).value).toEqual(["accepted", { taskId: "task_1", rootId: "root" }]);
    at.only().listen({ type: "text", text: "first" });
    expect((await stream.next()).value).toEqual(["text", { text: "first" }]);
    at.only().listen({ type: "step", step: { id: "1", name: "read", phase: "start" } });
    expect((await stream.next()).value).toEqual(["step", { step: { id: "1", name: "read", phase: "start" } }]);
    at.only().end({ reply: "first" });
    expect((await stream.next()).value).toEqual(["done", expect.objectContaining({ reply: "first" })]);
    expect((await stream.next()).done).toBe(true);
  });

  it("API-03 FAULT-31 a caller who hangs up, streaming or waiting, does not end the task", async () => {
    for (const headers of [{}, asJson]) {
      const leave = new AbortController();
      const left = fetch(`${at.server.url}/task`, { ...json({ agent: "slow", message: "go" }, headers), signal: leave.signal }).then((response) =>
        response.text(),
      );
      await at.until(() => at.kernel.live.size === 1);
      leave.abort();
      await expect(left).rejects.toThrow();
      const running = at.only();
      for (let count = 0; count < 50; count += 1) {
        running.listen({ type: "text", text: "still working" });
        await new Promise((resolve) => setImmediate(resolve));
      }
      running.end({ reply: "late" });
      expect((await running.result).reply).toBe("late");
      expect(await at.call(`/traces/${running.task.id}`)).toMatchObject({ status: 200, body: { response: "late", status: "ok" } });
    }
    expect(at.server.log.lines.filter((line) => line.includes("failed"))).toEqual([]);
  });

  it("API-06 a run that failed is 200 with the failed result", async () => {
    const answer = at.call("/task", json({ agent: "slow", message: "go" }, asJson));
    await at.until(() => at.kernel.live.size === 1);
    at.only().end({ ok: false, status: "timeout", error: "timed out after 60s", errorKind: "timeout" });
    expect(await answer).toMatchObject({ status: 200, body: { ok: false, status: "timeout", errorKind: "timeout" } });
  });

  it("passes on exactly the fields of the specification, and one shared conversation where none is named", async () => {
    void at
      .call(
        "/task",
        json(
          { agent: "slow", message: "m", contextStrategy: "planner", freshSession: true, context: { channel: "botmsg", chatId: "42", sender: "ann" } },
          asJson,
        ),
      )
      .catch(() => {});
    await at.until(() => at.kernel.live.size === 1);
    expect(at.only().message).toEqual({
      entry: "task",
      agent: "slow",
      text: "m",
      channel: "botmsg",
      chat: "42",
      sender: { id: "ann" },
      options: { contextStrategy: "planner", freshSession: true },
    });
    at.only().end({});
    void at.call("/task", json({ agent: "slow", message: "m" }, asJson)).catch(() => {});
    await at.until(() => at.kernel.live.size === 1);
    expect(at.only().message).toEqual({ entry: "task", agent: "slow", text: "m", channel: "http", chat: "default", options: {} });
    at.only().end({});
  });

  it("refuses what it does not know: agent 404, fields and CTX-08 strategies 400 with the field", async () => {
    expect(await at.call("/task", json({ agent: "nobody", message: "x" }))).toMatchObject({ status: 404, body: { code: "SVC_AGENT_UNKNOWN" } });
    for (const [body, path] of [
      [{ agent: "echo" }, "message"],
      [{ agent: "echo", message: "" }, "message"],
      [{ message: "x" }, "agent"],
      [{ agent: "echo", message: "x", contextStrategy: "clever" }, "contextStrategy"],
      [{ agent: "echo", message: "x", freshSession: "true" }, "freshSession"],
      [{ agent: "echo", message: "x", model: "m" }, "model"],
      [{ agent: "echo", message: "x", context: { channel: "c", admin: true } }, "context.admin"],
    ] as const) {
      expect(await at.call("/task", json(body))).toMatchObject({ status: 400, body: { path, field: path.split(".").at(-1) } });
    }
    expect(at.kernel.state.accepted).toBe(0);
  });

  it("FAULT-38 the same Idempotency-Key again answers 200 with the first task, and starts nothing", async () => {
    const keyed = json({ agent: "echo", message: "once" }, { "idempotency-key": "k1" });
    await (await fetch(`${at.server.url}/task`, keyed)).text();
    expect(await at.call("/task", json({ agent: "echo", message: "once" }, { ...asJson, "idempotency-key": "k1" }))).toMatchObject({
      status: 200,
      body: { taskId: "task_1" },
    });
    expect(at.kernel.state.accepted).toBe(1);
    await (await fetch(`${at.server.url}/task`, json({ agent: "echo", message: "x" }, { "idempotency-key": "k1", ...REMOTE, ...bearer("mesh") }))).text();
    expect(at.kernel.state.accepted).toBe(2);
    expect((await at.call("/task", json({ agent: "echo", message: "x" }, { "idempotency-key": "k".repeat(201) }))).status).toBe(400);
  });

  it("CON-D11 who lost the answer sends the same key again and gets it, in the form asked for, also while the task runs", async () => {
    const keyed = (headers: Record<string, string>) => json({ agent: "slow", message: "once" }, { "idempotency-key": "k2", ...headers });
    const first = at.call("/task", keyed(asJson));
    await at.until(() => at.kernel.live.size === 1);
    const waiting = at.call("/task", keyed(asJson));
    const stream = frames(await fetch(`${at.server.url}/task`, keyed({})));
    expect((await stream.next()).value).toEqual(["accepted", { taskId: "task_1", duplicate: true }]);
    await new Promise((resolve) => setTimeout(resolve, 20));
    at.only().listen({ type: "text", text: "going on" });
    expect((await stream.next()).value).toEqual(["text", { text: "going on" }]);
    at.only().end({ reply: "the answer" });
    const result = { ok: true, taskId: "task_1", agent: "slow", reply: "the answer", status: "ok", duplicate: true };
    expect((await stream.next()).value).toEqual(["done", expect.objectContaining(result)]);
    expect((await waiting).body).toMatchObject(result);
    expect((await first).body).not.toHaveProperty("duplicate");
    expect((await at.call("/task", keyed(asJson))).body).toMatchObject(result);
    expect((await collect(frames(await fetch(`${at.server.url}/task`, keyed({}))))).map(([name]) => name)).toEqual(["accepted", "done"]);
    expect(at.kernel.state.accepted).toBe(1);
  });

  it("is 503 with Retry-After while the daemon drains, in both forms", async () => {
    at.kernel.state.draining = true;
    for (const headers of [{}, asJson]) {
      const { status, headers: answered, body } = await at.call("/task", json({ agent: "echo", message: "x" }, headers));
      expect([status, body.code]).toEqual([503, "SVC_DAEMON_DRAINING"]);
      expect(Number(answered.get("retry-after"))).toBeGreaterThan(0);
    }
  });
});
