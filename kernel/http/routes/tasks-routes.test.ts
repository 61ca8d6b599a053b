import { describe, expect, it } from "vitest";
import { json, REMOTE } from "../http.harness.ts";
import { asJson, servedKernel } from "./kernel.harness.ts";

const at = servedKernel();

describe("POST /ask", () => {
  it("API-04 asks the default agent, and is a clear 400 where none is set", async () => {
    expect(await at.call("/ask", json({ message: "hi" }))).toMatchObject({
      status: 400,
      body: { code: "SVC_AGENT_NO_DEFAULT", error: expect.stringContaining("node.defaultAgent") },
    });
    at.kernel.state.defaultAgent = "echo";
    expect((await at.call("/ask", json({ message: "hi" }))).body).toEqual({ agent: "echo", reply: "hi", taskId: "task_1" });
    expect((await at.call("/ask", json({ text: "ho" }))).body).toEqual({ agent: "echo", reply: "ho", taskId: "task_2" });
    expect(await at.call("/ask", json({}))).toMatchObject({ status: 400, body: { field: "message" } });
  });
});

describe("live tasks", () => {
  const begin = async () => {
    const answer = at.call("/task", json({ agent: "slow", message: "go", context: { channel: "botmsg", chatId: "7", sender: "ann" } }, asJson));
    await at.until(() => at.kernel.live.size > 0);
    return { answer, id: at.only().task.id };
  };

  it("API-07 cancel answers ok once, and 404 for a task that is over or unknown", async () => {
    const { answer, id } = await begin();
    expect((await at.call(`/api/tasks/${id}/cancel`, json({ reason: "enough" }))).body).toEqual({ ok: true, taskId: id });
    expect((await answer).body).toMatchObject({ ok: false, errorKind: "cancelled" });
    expect((await at.call(`/api/tasks/${id}/cancel`, { method: "POST" })).status).toBe(404);
    expect((await at.call("/api/tasks/task_none/cancel", { method: "POST" })).status).toBe(404);
    expect(await at.call(`/api/tasks/${id}/cancel`, json({ why: 1 }))).toMatchObject({ status: 400, body: { path: "why" } });
  });

  it("API-09 a follow-up keeps the conversation; only the boolean true replaces; 404 when the task is over", async () => {
    const { answer, id } = await begin();
    for (const replace of ["false", "true", 1, null]) {
      expect(await at.call(`/api/tasks/${id}/followup`, json({ message: "more", replace }))).toMatchObject({ status: 400, body: { field: "replace" } });
    }
    expect((await at.call(`/api/tasks/${id}/followup`, json({ replace: true }))).body.field).toBe("message");
    expect((await at.call(`/api/tasks/${id}/followup`, json({ message: "more", sender: "bob" }))).body).toMatchObject({
      ok: true,
      taskId: "task_2",
      replaced: false,
    });
    expect(at.kernel.live.get("task_2")?.message).toMatchObject({ entry: "followup", text: "more", channel: "botmsg", chat: "7", sender: { id: "bob" } });
    expect(at.kernel.live.has(id)).toBe(true);
    expect((await at.call(`/api/tasks/${id}/followup`, json({ message: "instead", replace: true }))).body).toMatchObject({ replaced: true });
    expect((await answer).body).toMatchObject({ errorKind: "cancelled" });
    expect((await at.call(`/api/tasks/${id}/followup`, json({ message: "late" }))).status).toBe(404);
  });

  it("API-10 agents show each running task with its live step, and active is their number", async () => {
    const { id } = await begin();
    const slow = async () => ((await at.call("/agents")).body.agents as Record<string, unknown>[]).find((agent) => agent.id === "slow");
    expect(await slow()).toMatchObject({ active: 1, runningTasks: [{ id, step: "classify" }] });
    (at.only().task as { step: string }).step = "agent";
    expect(await slow()).toMatchObject({ active: 1, runningTasks: [{ id, step: "agent" }] });
    at.only().end({});
    expect(await slow()).toMatchObject({ active: 0, runningTasks: [] });
    expect(JSON.stringify(await slow())).not.toContain("/secret");
  });
});

describe("the rest", () => {
  it("GET /health tells this machine all and others only whether it is well", async () => {
    expect((await at.call("/health")).body).toMatchObject({ ok: true, version: "1.2.3", pid: 7 });
    expect((await at.call("/health", { headers: REMOTE })).body).toEqual({ ok: true, state: "running" });
  });

  it("GET /traces filters and refuses what is out of range; GET /traces/:id is 404 for none", async () => {
    await (await fetch(`${at.server.url}/task`, json({ agent: "echo", message: "one" }))).text();
    expect((await at.call("/traces?agent=echo&limit=5")).body).toEqual({ traces: [expect.objectContaining({ id: "task_1", message: "one" })] });
    expect((await at.call("/traces?agent=slow")).body).toEqual({ traces: [] });
    for (const query of ["limit=0", "limit=1001", "before=yesterday", "status=great"]) expect((await at.call(`/traces?${query}`)).status, query).toBe(400);
    expect((await at.call("/traces/task_none")).body).toMatchObject({ code: "SVC_TRACE_UNKNOWN" });
  });

  it("CFG-10 POST /reload reports what changed", async () => {
    expect((await at.call("/reload", { method: "POST" })).body).toEqual({ reloaded: true, changed: ["agents.echo.model"], restartRequired: [], failed: [] });
  });
});
