import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type A2aStage, openA2a, type StreamedFrame } from "../kit/a2a.ts";

type Json = Record<string, unknown>;

/** The three generations of the protocol: how each names its methods and reads what comes. */
const DIALECTS = [
  {
    name: "0.1, that of the specification",
    headers: {},
    send: "tasks/send",
    stream: "tasks/sendSubscribe",
    get: "tasks/get",
    cancel: "tasks/cancel",
    again: "tasks/resubscribe",
    ask: (text: string, id: string) => ({ id, message: { role: "user", parts: [{ type: "text", text }] } }),
    task: (result: Json) => result as Json,
    state: (status: Json) => status["state"],
    textOf: (result: Json) => ((result["artifact"] as Json | undefined)?.["parts"] as { text: string }[] | undefined)?.[0]?.text,
    statusOf: (result: Json) => result["status"] as Json | undefined,
    isFinal: (result: Json) => result["final"] === true,
    idOf: (result: Json) => result["id"] as string,
  },
  {
    name: "0.3",
    headers: { "a2a-version": "0.3" },
    send: "message/send",
    stream: "message/stream",
    get: "tasks/get",
    cancel: "tasks/cancel",
    again: "tasks/resubscribe",
    ask: (text: string, id: string) => ({ message: { kind: "message", role: "user", messageId: id, parts: [{ kind: "text", text }] } }),
    task: (result: Json) => result as Json,
    state: (status: Json) => status["state"],
    textOf: (result: Json) => (result["kind"] === "artifact-update" ? ((result["artifact"] as Json)["parts"] as { text: string }[])[0]?.text : undefined),
    statusOf: (result: Json) => result["status"] as Json | undefined,
    isFinal: (result: Json) => result["final"] === true,
    idOf: (result: Json) => (result["taskId"] ?? result["id"]) as string,
  },
  {
    name: "1.0",
    headers: { "a2a-version": "1.0" },
    send: "SendMessage",
    stream: "SendStreamingMessage",
    get: "GetTask",
    cancel: "CancelTask",
    again: "SubscribeToTask",
    ask: (text: string, id: string) => ({ message: { role: "ROLE_USER", messageId: id, parts: [{ text }] } }),
    task: (result: Json) => (result["task"] ?? result) as Json,
    state: (status: Json) => String(status["state"]).replace("TASK_STATE_", "").toLowerCase(),
    textOf: (result: Json) => ((result["artifactUpdate"] as { artifact?: { parts: { text: string }[] } } | undefined)?.artifact?.parts ?? [])[0]?.text,
    statusOf: (result: Json) => ((result["statusUpdate"] ?? result["task"]) as { status?: Json } | undefined)?.status,
    isFinal: (result: Json) => /COMPLETED|FAILED|CANCELED/.test(String((result["statusUpdate"] as { status?: Json } | undefined)?.status?.["state"])),
    idOf: (result: Json) =>
      ((result["task"] as Json | undefined)?.["id"] ?? ((result["statusUpdate"] ?? result["artifactUpdate"]) as Json | undefined)?.["taskId"]) as string,
  },
] as const;

type Dialect = (typeof DIALECTS)[number];

const results = (frames: readonly StreamedFrame[]): Json[] => frames.map(({ answer }) => answer.result as Json);
const ids = (frames: readonly StreamedFrame[]): number[] => frames.map(({ id }) => Number(id));
const words = (dialect: Dialect, frames: readonly StreamedFrame[]) =>
  results(frames)
    .map((result) => dialect.textOf(result) ?? "")
    .join("");
const TEXT = "one two three four five six seven eight nine ten eleven twelve";

describe("A2A", () => {
  let at: A2aStage;
  beforeAll(async () => {
    at = await openA2a();
  }, 60_000);
  afterAll(() => at.close());

  describe.each(DIALECTS)("generation $name", (dialect) => {
    const { headers, ask } = dialect;

    it("A2A-04 runs a task and returns it; the daemon has its trace", async () => {
      const { status, body } = await at.call(dialect.send, ask("hello", `send-${dialect.send}`), { headers });
      const task = dialect.task((body as { result: Json }).result);
      expect([status, dialect.state(task["status"] as Json)]).toEqual([200, "completed"]);
      expect((task["artifacts"] as { parts: { text: string }[] }[])[0]?.parts[0]?.text).toBe("hello");
      const traces = await at.shell.json<{ channel: string }[]>("trace", "list");
      expect(traces[0]).toMatchObject({ channel: "a2a" });
    });

    it("A2A-02 streams real progress in spread frames that are numbered; the last one is marked final", async () => {
      const frames = await at.stream(dialect.stream, ask(TEXT, `stream-${dialect.stream}`), { headers });
      expect(frames.length).toBeGreaterThanOrEqual(10);
      expect(new Set(frames.map((frame) => frame.at)).size).toBeGreaterThanOrEqual(8);
      expect(frames.every(({ answer }) => answer.jsonrpc === "2.0" && answer.id === 1)).toBe(true);
      expect(ids(frames)).toEqual(ids(frames).map((_, n) => n));
      expect(words(dialect, frames)).toBe(TEXT);
      expect(results(frames).map(dialect.isFinal)).toEqual(results(frames).map((_, n) => n === frames.length - 1));
      expect(dialect.state(dialect.statusOf(results(frames).at(-1) as Json) as Json)).toBe("completed");
    });

    it("a cut stream is resumed behind the last event without a loss, and tasks/get shows it working meanwhile", async () => {
      const before = await at.stream(dialect.stream, ask(TEXT, `cut-${dialect.stream}`), { headers, enough: (frames) => frames.length === 5 });
      const id = dialect.idOf(results(before)[0] as Json);
      const { body } = await at.call(dialect.get, { id }, { headers });
      expect(dialect.state(dialect.task((body as { result: Json }).result)["status"] as Json)).toBe("working");
      const after = await at.stream(dialect.again, { id }, { headers: { ...headers, "last-event-id": before.at(-1)?.id ?? "" } });
      expect(ids([...before, ...after])).toEqual(ids([...before, ...after]).map((_, n) => n));
      expect(words(dialect, [...before, ...after])).toBe(TEXT);
      expect(dialect.isFinal(results(after).at(-1) as Json)).toBe(true);
      // Ids that are none of this task's.
      for (const none of ["-1", "1e1", "0x2", "5.5", "999", "99999999999999999999"])
        expect((await at.call(dialect.again, { id }, { headers: { ...headers, "last-event-id": none } })).body, none).toMatchObject({
          error: { code: -32602 },
        });
      // Once more, after its end: what was missed is still there.
      expect(await at.stream(dialect.again, { id }, { headers: { ...headers, "last-event-id": "5" } })).toHaveLength(before.length + after.length - 6);
    });

    it("is canceled in the middle: the stream ends so, the task shows it, and a second time it cannot be", async () => {
      let cancel: Promise<{ body: unknown }> = Promise.reject(new Error("four frames never came"));
      cancel.catch(() => undefined);
      const frames = await at.stream(dialect.stream, ask(TEXT, `cancel-${dialect.stream}`), {
        headers,
        enough: (seen) => {
          if (seen.length === 4) cancel = at.call(dialect.cancel, { id: dialect.idOf(results(seen)[0] as Json) }, { headers });
          return false;
        },
      });
      const id = dialect.idOf(results(frames)[0] as Json);
      expect(dialect.state(dialect.task(((await cancel).body as { result: Json }).result)["status"] as Json)).toBe("canceled");
      expect(dialect.state(dialect.statusOf(results(frames).at(-1) as Json) as Json)).toBe("canceled");
      expect(frames.length).toBeLessThan(14);
      expect((await at.call(dialect.cancel, { id }, { headers })).body).toMatchObject({ error: { code: -32002 } });
      expect((await at.call(dialect.get, { id: "nobody" }, { headers })).body).toMatchObject({ id: 1, error: { code: -32001 } });
      expect((await at.call(dialect.send, { message: { role: "user", parts: [] } }, { headers })).body).toMatchObject({ error: { code: -32602 } });
    });
  });

  it("A2A-01 every answer is HTTP 200 with the call's id and its own code; a notification has no body", async () => {
    const cases: [string, unknown, number][] = [
      ["{", null, -32700],
      ["", null, -32700],
      ["[]", null, -32600],
      [JSON.stringify([{ jsonrpc: "2.0", id: 1, method: "tasks/get", params: {} }]), null, -32600],
      ["1", null, -32600],
      ["null", null, -32600],
      [JSON.stringify({ jsonrpc: "1.0", id: 7, method: "tasks/get" }), 7, -32600],
      [JSON.stringify({ jsonrpc: "2.0", id: {}, method: "tasks/get" }), null, -32600],
      [JSON.stringify({ jsonrpc: "2.0", id: 7, method: 1 }), 7, -32600],
      [JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tasks/forget" }), 7, -32601],
      [JSON.stringify({ jsonrpc: "2.0", id: "seven", method: "tasks/get", params: [] }), "seven", -32602],
      [JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tasks/get" }), 7, -32602],
      [JSON.stringify({ jsonrpc: "2.0", id: null, method: "tasks/get", params: { id: "x" } }), null, -32001],
      [`{"jsonrpc":"2.0","id":7,"method":"tasks/get","params":${'{"a":'.repeat(64)}1${"}".repeat(64)}}`, 7, -32602],
      [`{"jsonrpc":"2.0","id":7,"method":"tasks/get","params":${"[".repeat(200_000)}}`, null, -32700],
      ['{"jsonrpc":"2.0","id":7,"method":"__proto__","params":{"__proto__":{"id":"x"}}}', 7, -32601],
      [JSON.stringify({ jsonrpc: "2.0", id: 7, method: "GetExtendedAgentCard", params: {} }), 7, -32007],
      [
        JSON.stringify({
          jsonrpc: "2.0",
          id: 7,
          method: "message/send",
          params: { message: { parts: [{ kind: "file", file: { bytes: "AAAA", mimeType: "image/png" } }] } },
        }),
        7,
        -32005,
      ],
      [
        JSON.stringify({
          jsonrpc: "2.0",
          id: 7,
          method: "message/send",
          params: { message: { parts: [{ kind: "file", file: { bytes: "!?", mimeType: "text/plain" } }] } },
        }),
        7,
        -32602,
      ],
    ];
    for (const [text, id, code] of cases)
      expect(await at.post(text), text.slice(0, 100)).toMatchObject({ status: 200, body: { jsonrpc: "2.0", id, error: { code } } });
    for (const version of ["7.0", "1.1", "1.0; x", "1.0.0.0", "v1.0"])
      expect((await at.call("tasks/get", { id: "x" }, { headers: { "a2a-version": version } })).body, version).toMatchObject({ error: { code: -32009 } });
    expect((await at.call("tasks/get", { id: "x" }, { headers: { "a2a-version": "1.0.3" } })).body).toMatchObject({ error: { code: -32001 } });
    expect((await at.call("tasks/get", { id: "x" }, { headers: { "content-type": "text/plain" } })).body).toMatchObject({ error: { code: -32005 } });
    const silent = await at.post(JSON.stringify({ jsonrpc: "2.0", method: "tasks/get", params: { id: "x" } }));
    expect([silent.status, silent.body]).toEqual([204, undefined]);
    // One that begins a task has no stream either, and the task runs.
    const params = { id: "unheard", message: { role: "user", parts: [{ type: "text", text: "x" }] } };
    const begun = await at.post(JSON.stringify({ jsonrpc: "2.0", method: "tasks/sendSubscribe", params }));
    expect([begun.status, begun.body]).toEqual([204, undefined]);
    expect((await at.call("tasks/get", { id: "unheard" })).body).toMatchObject({ result: { id: "unheard" } });
  });

  it("files of text and data reach the agent in words", async () => {
    const parts = [
      { kind: "text", text: "look:" },
      { kind: "data", data: { answer: 42 } },
      { kind: "file", file: { name: "a.csv", mimeType: "text/csv", bytes: Buffer.from("x;ü").toString("base64") } },
      { kind: "file", file: { uri: "https://example.org/b.png", mimeType: "image/png" } },
    ];
    const { body } = await at.call("message/send", { message: { kind: "message", role: "user", messageId: "m", parts } });
    const [answer] = (body as { result: { artifacts: { parts: { text: string }[] }[] } }).result.artifacts;
    for (const piece of ["look:", '"answer":42', "File 'a.csv' (text/csv):\nx;ü", "https://example.org/b.png"]) expect(answer?.parts[0]?.text).toContain(piece);
  });

  it("a caller that goes away does not end its task, and one that does not wait gets it at once", async () => {
    const { body } = await at.call("message/send", { message: { role: "user", parts: [{ kind: "text", text: TEXT }] }, configuration: { blocking: false } });
    const { id, status } = (body as { result: { id: string; status: { state: string } } }).result;
    expect(status.state).toBe("submitted");
    const frames = await at.stream("tasks/resubscribe", { id });
    expect(results(frames).at(-1)).toMatchObject({ final: true, status: { state: "completed" } });
  });

  it("callers who show no bearer do not read each other: tasks are not listed, and their ids are random", async () => {
    const ask = { message: { role: "ROLE_USER", messageId: "m", parts: [{ text: "my secret is CANARY" }] } };
    const headers = { "a2a-version": "1.0" };
    const sent = await Promise.all([1, 2].map(() => at.call("SendMessage", ask, { headers })));
    const tasks = sent.map(({ body }) => (body as { result: { task: { id: string; contextId: string } } }).result.task);
    const random = tasks.flatMap(({ id, contextId }) => [id, contextId]);
    expect(new Set(random).size).toBe(4);
    for (const id of random) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    for (const params of [{ historyLength: 10 }, { contextId: tasks[0]?.contextId }]) {
      const { body } = await at.call("ListTasks", params, { headers });
      expect(body).toMatchObject({ error: { code: -32004 } });
      expect(JSON.stringify(body)).not.toContain("CANARY");
    }
    expect((await at.call("GetTask", { id: tasks[0]?.id }, { headers })).body).toMatchObject({ result: { id: tasks[0]?.id } });
  });

  it("addresses to be told are kept a task, and only https ones are taken", async () => {
    const { body } = await at.call("message/send", { message: { role: "user", parts: [{ kind: "text", text: TEXT }] }, configuration: { blocking: false } });
    const { id } = (body as { result: { id: string } }).result;
    const set = (url: string) => at.call("tasks/pushNotificationConfig/set", { taskId: id, pushNotificationConfig: { id: "c1", url, token: "t" } });
    for (const bad of ["http://example.org/", "file:///etc/passwd", "x"]) expect((await set(bad)).body, bad).toMatchObject({ error: { code: -32602 } });
    expect((await set("https://example.org/hook")).body).toMatchObject({
      result: { taskId: id, pushNotificationConfig: { id: "c1", url: "https://example.org/hook" } },
    });
    expect((await at.call("tasks/pushNotificationConfig/list", { id })).body).toMatchObject({ result: [{ pushNotificationConfig: { id: "c1" } }] });
    expect((await at.call("ListTaskPushNotificationConfigs", { taskId: id })).body).toMatchObject({ result: { configs: [{ id: "c1", taskId: id }] } });
    await at.call("tasks/pushNotificationConfig/delete", { id, pushNotificationConfigId: "c1" });
    expect((await at.call("tasks/pushNotificationConfig/list", { id })).body).toMatchObject({ result: [] });
  });

  it("A2A-02 after a restart the tasks are forgotten", async () => {
    await at.call("tasks/send", { id: "before", message: { role: "user", parts: [{ type: "text", text: "hi" }] } });
    expect((await at.call("tasks/get", { id: "before" })).body).toMatchObject({ result: { status: { state: "completed" } } });
    await at.restart();
    expect((await at.call("tasks/get", { id: "before" })).body).toMatchObject({ error: { code: -32001 } });
  });
});

it("A2A-03 the default host is every address, and the exposure is told; with a bearer nobody else is let in", async () => {
  const open = await openA2a({ delayMs: 0 }, ["--host", "0.0.0.0"]);
  expect(open.said()).toMatch(/without --token-env everyone who reaches 0\.0\.0\.0:\d+ can use echo/);
  await open.close();
  const guarded = await openA2a({ delayMs: 0 }, ["--host", "0.0.0.0", "--token-env", "A2A_BEARER"], { A2A_BEARER: "a-bearer-that-nobody-guesses" });
  try {
    expect(guarded.said()).toBe("");
    const ask = { message: { role: "user", parts: [{ kind: "text", text: "hi" }] } };
    expect((await guarded.call("message/send", ask)).status).toBe(401);
    expect((await guarded.call("message/send", ask, { headers: { authorization: "Bearer another-one-that-is-wrong" } })).status).toBe(401);
    const headers = { authorization: "Bearer a-bearer-that-nobody-guesses" };
    expect((await guarded.call("message/send", ask, { headers })).body).toMatchObject({ result: { status: { state: "completed" } } });
    const card = (await (await fetch(`${guarded.url}.well-known/agent-card.json`)).json()) as Json;
    expect(card).toMatchObject({ name: "Echo", security: [{ bearer: [] }], supportsAuthenticatedExtendedCard: true });
    expect((await guarded.call("ListTasks", {}, { headers })).body).toMatchObject({
      result: { totalSize: 1, tasks: [{ status: { state: "TASK_STATE_COMPLETED" } }] },
    });
    expect((await guarded.call("agent/getAuthenticatedExtendedCard", {}, { headers })).body).toMatchObject({ result: { name: "Echo" } });
    // The daemon ends: the task fails in words, and the server stays.
    await guarded.shell.svc("daemon", "stop");
    expect((await guarded.call("message/send", ask, { headers })).body).toMatchObject({
      result: { status: { state: "failed", message: { parts: [{ text: expect.stringContaining("daemon") }] } } },
    });
  } finally {
    await guarded.close();
  }
}, 60_000);
