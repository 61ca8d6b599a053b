import { createMemoryStore } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import { OFFER, settled, stage, TestClock } from "./calls.harness.ts";
import { playRing } from "./ring-sound.ts";
import { mayCallIn, mayRing } from "./who-may.ts";

const codeOf = (answer: { body: unknown }) => (answer.body as { code?: string }).code;

describe("who may", () => {
  it("CFG-15 webrtc.allowedCallers: empty lets all peers call; a list lets in those that it names", async () => {
    expect([mayCallIn([], "north"), mayCallIn(["south"], "north"), mayCallIn(["south"], "south")]).toEqual([true, false, true]);
    const peer = (name: string) => ({ caller: { peer: name, local: false } });
    expect((await stage().post("/calls", { to: "ada" }, peer("north"))).status).toBe(201);
    const at = stage({ rules: { allowedCallers: ["south"] } });
    expect(await at.post("/calls", { to: "ada" }, peer("north"))).toMatchObject({ status: 403, body: { code: "SVC_CALLS_CALLER" } });
    expect((await at.post("/calls", { to: "ada" }, peer("south"))).status).toBe(201);
    expect((await at.post("/calls", { to: "ada" })).status).toBe(201);
  });

  it("CFG-15 calls.allow: empty lets no agent ring; a list lets in those that it names, * all", async () => {
    expect([mayRing([], "ada"), mayRing(["ben"], "ada"), mayRing(["ada"], "ada"), mayRing(["*"], "ada")]).toEqual([false, false, true, true]);
    const refused = await stage({ calls: { allow: [] } }).post("/calls", { to: "chat" });
    expect(refused).toMatchObject({ status: 403, body: { code: "SVC_CALLS_NOT_ALLOWED" } });
    expect((await stage({ calls: { allow: ["*"] } }).post("/calls", { to: "chat", agent: "ben" })).status).toBe(201);
  });

  it("a task rings in its own agent's name alone, and no other agent", async () => {
    const at = stage({ calls: { allow: ["*"] } });
    const task = { caller: { task: { agent: "ben", taskId: "t", rootId: "r" } } };
    expect(codeOf(await at.post("/calls", { to: "chat", agent: "ada" }, task))).toBe("SVC_CALLS_OF_AGENT");
    expect(codeOf(await at.post("/calls", { to: "ada" }, task))).toBe("SVC_CALLS_OF_AGENT");
    expect((await at.post("/calls", { to: "chat" }, task)).body).toMatchObject({ call: { agent: "ben", caller: "ben" } });
  });

  it("who is nobody, an agent that is none, a daemon without media or bot: each in words", async () => {
    const at = stage();
    expect((await at.post("/calls", { to: "carl" })).body).toMatchObject({
      code: "SVC_CALLS_PERSON",
      error: "There is nobody to ring as 'carl'. Agents: ada, ben. Chats of people: chat:7, mail:ann.",
    });
    // Also where no agent is named or set by default: the name is what is wrong.
    const bare = stage({ rules: { ringNotify: [], bot: { enabled: true, maxCallMinutes: 30 } } });
    expect((await bare.post("/calls", { to: "carl" })).body).toMatchObject({
      code: "SVC_CALLS_PERSON",
      error: expect.stringContaining("ringNotify is not set"),
    });
    expect(codeOf(await at.post("/calls", { to: "chat", agent: "carl" }))).toBe("SVC_CALLS_AGENT");
    const off = stage({ rules: { bot: { enabled: false, maxCallMinutes: 30 } } });
    expect(codeOf(await off.post("/calls", { to: "ada" }))).toBe("SVC_CALLS_BOT");
    const peer = { caller: { peer: "north", local: false } };
    expect(codeOf(await at.post("/calls", { to: "chat" }, peer))).toBe("SVC_CALLS_OF_PEER");
    expect(codeOf(await at.post("/calls", { kind: "camera" }, peer))).toBe("SVC_CALLS_OF_PEER");
  });

  it("CHAN-09 calls and camera asks of agents count together, over restarts; people who call do not", async () => {
    const at = stage({ calls: { maxPerHour: 2 } });
    for (let n = 0; n < 4; n += 1) expect((await at.post("/calls", { to: "ada" })).status).toBe(201);
    expect((await at.post("/calls", { to: "chat" })).status).toBe(201);
    await at.clock.advance(60_000);
    expect((await at.post("/calls", { to: "chat", kind: "camera" })).status).toBe(201);
    expect(await at.post("/calls", { to: "chat" })).toMatchObject({ status: 429, body: { error: expect.stringContaining("2026-05-04T11:00:00.000Z") } });
    const again = stage({ calls: { maxPerHour: 2 }, store: at.store, clock: at.clock });
    expect((await again.post("/calls", { to: "chat", kind: "camera" })).status).toBe(429);
    await at.clock.advance(3_540_000);
    expect((await again.post("/calls", { to: "chat" })).status).toBe(201);
    expect((await again.post("/calls", { to: "chat" })).status).toBe(429);
  });

  it("two daemons of one store share the count", async () => {
    const clock = new TestClock();
    const store = createMemoryStore();
    const [one, other] = [stage({ calls: { maxPerHour: 5 }, store, clock }), stage({ calls: { maxPerHour: 5 }, store, clock })];
    const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => (n % 2 ? one : other).post("/calls", { to: "chat" })));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(5);
  });
});

describe("a person calls an agent", () => {
  it("gets a link that opens once; the relay's password is for the page that has joined, and for no other", async () => {
    const at = stage();
    const placed = await at.post("/calls", { to: "ada", by: "Ann" });
    const { call, url } = placed.body as { call: { id: string }; url: string };
    expect(url).toMatch(new RegExp(`^https://svc\\.example/call/${call.id}#[\\w-]{43}$`));
    expect(JSON.stringify(placed.body)).not.toContain("password");
    const code = url.split("#")[1];
    expect(codeOf(await at.post(`/calls/${call.id}/join`, { code: `${code}x` }))).toBe("SVC_CALLS_LINK");
    const first = await at.post(`/calls/${call.id}/join`, { code });
    expect(first.body).toMatchObject({ iceServers: [{ credential: "the-password-of-the-relay" }] });
    expect(await at.post(`/calls/${call.id}/join`, { code })).toMatchObject({ status: 410, body: { code: "SVC_CALLS_LINK" } });
    const bare = await at.ctx.request("GET", `/calls/${call.id}/media`);
    expect([bare.status, JSON.stringify(bare.body).includes("password")]).toEqual([401, false]);
  });

  it("is answered, heard and written down: each line stored, grown into the chat while the call runs, and summed up at its end", async () => {
    const at = stage();
    const { id, bearer, answer, request } = await at.running();
    expect(answer.body).toMatchObject({ answer: `v=0\r\nanswer ${id}`, call: { state: "running" } });
    request.onState?.("connected");
    request.onText?.({ atMs: 1_000, durationMs: 500, text: "we meet *on* Friday" });
    await settled();
    expect(at.sentTo("notes")).toEqual([]);
    await at.clock.advance(2_500);
    expect(at.sentTo("notes")).toEqual(["0:01 Ann: we meet \\*on\\* Friday"]);
    request.onText?.({ atMs: 62_000, durationMs: 500, text: "at ten" });
    await settled();
    await at.post(`/calls/${id}/end`, {}, at.as(bearer));
    await settled();
    expect(at.sentTo("notes").slice(1)).toEqual(["1:02 Ann: at ten", "Call of Ada with Ann ended after 3 s by Ann. 2 lines in 3 s.", "They agreed on Friday."]);
    const summary = at.tasks.accepted.at(-1);
    expect([summary?.agent, summary?.text]).toEqual(["ada", expect.stringContaining("| Ann: at ten")]);
    expect((await at.ctx.request("GET", `/calls/${id}`)).body).toMatchObject({ call: { state: "ended", said: 2 }, lines: [{ n: 0 }, { n: 1 }] });
  });

  it("a call that nothing was said in is not summed up, nor one where calls.summary is false", async () => {
    const quiet = stage();
    const silent = await quiet.running();
    await quiet.post(`/calls/${silent.id}/end`, {}, quiet.as(silent.bearer));
    const off = stage({ calls: { summary: false } });
    const said = await off.running();
    said.request.onText?.({ atMs: 0, durationMs: 1, text: "hello" });
    await off.post(`/calls/${said.id}/end`, {}, off.as(said.bearer));
    await settled();
    expect([quiet.tasks.accepted, off.tasks.accepted]).toEqual([[], []]);
    expect(off.sentTo("notes")).toEqual(["0:00 Ann: hello", "Call of Ada with Ann ended after 0 s by Ann. 1 line in 0 s."]);
  });

  it("ends at its limit, to the second by the clock: the smaller of calls.maxCallMinutes and webrtc.bot.maxCallMinutes", async () => {
    const at = stage({ calls: { maxCallMinutes: 2 } });
    const { id, request } = await at.running();
    request.onState?.("connected");
    await at.clock.advance(119_999);
    expect([at.opened.live(id)?.row.state, request.closed]).toEqual(["running", undefined]);
    await at.clock.advance(1);
    expect(request.closed).toBe("limit");
    const row = await at.opened.row(id);
    expect((row?.endedAt ?? 0) - (row?.startedAt ?? 0)).toBe(120_000);
    expect(at.sentTo("notes").at(-1)).toContain("ended by itself after 2 min 0 s");
    const bot = stage({ rules: { bot: { enabled: true, maxCallMinutes: 1 } } });
    const short = await bot.running();
    short.request.onState?.("connected");
    await bot.clock.advance(60_000);
    expect(short.request.closed).toBe("limit");
  });

  it("what was said before the end still becomes words; media after it is nothing, for 10 s and longer", async () => {
    const at = stage();
    at.far.state.lastWords = "goodbye";
    const { id, bearer, request } = await at.running();
    await at.post(`/calls/${id}/end`, {}, at.as(bearer));
    await settled();
    for (let second = 0; second < 10; second += 1) {
      request.onText?.({ atMs: second, durationMs: 1, text: `late ${second}` });
      request.onState?.("connected");
      request.onCandidate?.({ candidate: "x" });
      await at.clock.advance(1_000);
    }
    expect((await at.opened.lines(id)).map(({ text }) => text)).toEqual(["goodbye"]);
    expect((await at.opened.row(id))?.end?.reason).toBe("hung up");
    expect(at.clock.waiting).toBe(0);
  });

  it("media that fails ends it in words; media that never connects is given up", async () => {
    const at = stage();
    const { id, request } = await at.running();
    request.onState?.("failed", "turn:relay.example:3478 refused the login (401)");
    await settled();
    expect(at.sentTo("notes")).toEqual([expect.stringContaining("failed after 0 s: turn:relay.example:3478 refused the login (401)")]);
    expect((await at.opened.row(id))?.state).toBe("ended");
    const never = await at.running();
    await at.clock.advance(45_000);
    expect((await at.opened.row(never.id))?.end).toMatchObject({ reason: "failed", words: expect.stringContaining("no connection") });
  });
});

describe("an agent rings people", () => {
  const ringing = async (given: Parameters<typeof stage>[0] = {}) => {
    const at = stage(given);
    const { id } = ((await at.post("/calls", { to: "chat", why: "the build is broken" })).body as { call: { id: string } }).call;
    return { at, id };
  };

  it("on the chats of ringNotify, with answer and decline as choices", async () => {
    const at = stage();
    await at.post("/calls", { why: "the build is broken" });
    for (const channel of ["chat", "mail"]) {
      expect(at.sentTo(channel)).toEqual(["Ada is calling: the build is broken\n\nAnswer within 45 s."]);
      expect(at.choicesOf(channel).map(({ label }) => label)).toEqual(["Answer", "Decline"]);
    }
  });

  it("who answers gets a link in that chat, the other chats are told, and a second one comes too late", async () => {
    const at = stage();
    const { id } = ((await at.post("/calls", {})).body as { call: { id: string } }).call;
    expect(await at.press(id, "answer")).toEqual({ reject: `it answers call ${id}` });
    expect(at.tasks.closed.map(({ words }) => words)).toEqual(["Answered by Ann on chat.", "Answered by Ann on chat."]);
    const [, code = ""] = /#(\S+)/.exec(at.sentTo("chat")[1] ?? "") ?? [];
    await at.press(id, "answer", { id: "6", name: "Bob" });
    expect(at.sentTo("chat")[2]).toContain("is answered already by Ann on chat");
    await at.clock.advance(44_000);
    const { bearer } = (await at.post(`/calls/${id}/join`, { code })).body as { bearer: string };
    await at.post(`/calls/${id}/answer`, { offer: OFFER }, at.as(bearer));
    at.far.opened[0]?.onText?.({ atMs: 0, durationMs: 1, text: "hi" });
    await settled();
    expect(await at.opened.lines(id)).toMatchObject([{ who: "Ann", text: "hi" }]);
  });

  it("who declines ends it; its notices say so and nothing else is sent", async () => {
    const { at, id } = await ringing();
    expect(await at.press(id, "decline")).toEqual({ reject: `it declines call ${id}` });
    await settled();
    expect(at.tasks.closed).toEqual([expect.objectContaining({ words: "The call is over: declined by Ann." })]);
    expect(at.sentTo("notes")).toEqual([expect.stringContaining("declined by Ann")]);
    expect((await at.opened.row(id))?.end).toEqual({ reason: "declined", by: "Ann" });
    await at.press(id, "answer");
    expect(at.sentTo("chat").at(-1)).toContain("is over");
  });

  it("nobody answers: it is missed at the end of the ring time, and at the end of it anew where somebody took it and did not come", async () => {
    const { at, id } = await ringing();
    await at.clock.advance(44_999);
    expect(at.opened.live(id)).toBeDefined();
    await at.clock.advance(1);
    expect((await at.opened.row(id))?.end?.reason).toBe("missed");
    const { at: other, id: taken } = await ringing();
    await other.clock.advance(40_000);
    await other.press(taken, "answer");
    await other.clock.advance(44_999);
    expect(other.opened.live(taken)).toBeDefined();
    await other.clock.advance(1);
    expect((await other.opened.row(taken))?.end?.reason).toBe("missed");
  });

  it("with calls.ringSound on a Mac, and with none elsewhere; a sound that is missing is a line of the log", async () => {
    const played: unknown[] = [];
    const warned: unknown[] = [];
    const spawn = (...given: unknown[]) => {
      played.push(given.slice(0, 2));
      return { started: Promise.resolve(), ended: Promise.resolve({ code: 1, stderr: "no such file" }) };
    };
    const ctx = { spawn, log: { warn: (...said: unknown[]) => warned.push(said) } } as never;
    await playRing(ctx, "Submarine", "linux");
    expect(played).toEqual([]);
    await playRing(ctx, "Submarine", "darwin");
    expect([played, warned]).toEqual([[["afplay", ["/System/Library/Sounds/Submarine.aiff"]]], [[expect.anything(), expect.stringContaining("no such file")]]]);
  });

  it("choices of others are left alone", async () => {
    const { at } = await ringing();
    expect(await at.press("c000000000000", "answer")).toBeUndefined();
    expect(await at.press("abcdefgh", "answer")).toBeUndefined();
  });
});

describe("ends", () => {
  it("both sides at once: one end, told once", async () => {
    const at = stage();
    const { id, bearer, request } = await at.running();
    request.onState?.("closed");
    const answers = await Promise.all([at.post(`/calls/${id}/end`, {}, at.as(bearer)), at.post(`/calls/${id}/end`), at.press(id, "decline")]);
    await settled();
    expect(answers.slice(0, 2).map((answer) => (answer as { status: number }).status)).toEqual([200, 200]);
    expect(at.sentTo("notes").filter((text) => text.startsWith("Call of"))).toHaveLength(1);
    expect((await at.post(`/calls/${id}/end`)).status).toBe(200);
    expect((await at.post(`/calls/c000000000000/end`)).status).toBe(404);
  });

  it("a daemon that was killed in a call: the next start ends it in its row and tells of it, once", async () => {
    const at = stage();
    const { id, request } = await at.running();
    request.onText?.({ atMs: 0, durationMs: 1, text: "one" });
    await settled();
    await at.clock.advance(3_000);
    request.onText?.({ atMs: 4_000, durationMs: 1, text: "two" });
    const ring = ((await at.post("/calls", { to: "chat" })).body as { call: { id: string } }).call;
    await settled();
    const next = stage({ store: at.store, clock: at.clock });
    await next.opened.recover();
    await settled();
    expect(await next.opened.row(id)).toMatchObject({ state: "ended", live: 0, owed: 0, end: { reason: "restarted" } });
    // The ends of two calls are told side by side.
    expect(next.sentTo("notes").toSorted()).toEqual([
      "0:04 Ann: two",
      expect.stringMatching(/^Call of Ada with Ann cut off: the daemon was restarted/),
      expect.stringMatching(/^Call of Ada with somebody cut off while it rang/),
      "They agreed on Friday.",
    ]);
    expect((await next.opened.row(ring.id))?.state).toBe("ended");
    const third = stage({ store: at.store, clock: at.clock });
    await third.opened.recover();
    await settled();
    expect(third.tasks.delivered).toEqual([]);
  });

  it("a call that another daemon of the same store serves is left to it", async () => {
    const store = createMemoryStore();
    const at = stage({ store });
    const { id } = await at.running();
    const others = stage({ store: { ...store, lease: async () => ({ held: false, signal: AbortSignal.abort(), release: async () => {} }) } });
    await others.opened.recover();
    expect((await others.opened.row(id))?.state).toBe("running");
  });

  it("what is pressed at another daemon of the same store counts at the one that serves the call; once that is gone, it is over", async () => {
    const store = createMemoryStore();
    const alive = new Set<string>();
    /** Leases as daemons of a shared store have them: those of a living one are its own. */
    const daemon = () => {
      const own = new Set<string>();
      const lease: typeof store.lease = async (name) => {
        const held = own.has(name) || !alive.has(name);
        if (held) alive.add(name) && own.add(name);
        return { held, signal: held ? new AbortController().signal : AbortSignal.abort(), release: async () => void (held && alive.delete(name)) };
      };
      return { ...store, shared: true, lease };
    };
    const at = stage({ store: daemon() });
    const other = stage({ store: daemon(), clock: at.clock });
    const { id } = ((await at.post("/calls", { to: "chat" })).body as { call: { id: string } }).call;
    expect(await other.press(id, "answer")).toEqual({ reject: `it is for the daemon that serves call ${id}` });
    await at.clock.advance(1_000);
    expect((await at.opened.row(id))?.answered).toEqual({ by: "Ann", surface: "chat" });
    expect(at.sentTo("chat").at(-1)).toContain(`https://svc.example/call/${id}#`);
    for (const answer of [await other.post(`/calls/${id}/end`), await other.post(`/calls/${id}/join`, { code: "x" })])
      expect(answer).toMatchObject({ status: 409, body: { code: "SVC_CALLS_ELSEWHERE" } });
    expect(at.opened.live(id)).toBeDefined();
    await other.press(id, "decline");
    await at.clock.advance(1_000);
    expect((await at.opened.row(id))?.end).toMatchObject({ reason: "declined", by: "Ann" });
    expect(other.sentTo("chat")).toEqual([]);
    expect([await store.collection("presses").count(), at.clock.waiting]).toEqual([0, 0]);
    const next = ((await at.post("/calls", { to: "chat" })).body as { call: { id: string } }).call;
    alive.clear();
    await other.press(next.id, "answer");
    expect(other.sentTo("chat").at(-1)).toContain("the daemon was restarted");
  });

  it("what is older than 30 days is forgotten, with its transcript", async () => {
    const at = stage();
    const { id, bearer, request } = await at.running();
    request.onText?.({ atMs: 0, durationMs: 1, text: "one" });
    await at.post(`/calls/${id}/end`, {}, at.as(bearer));
    await settled();
    await at.clock.advance(31 * 86_400_000);
    await at.opened.recover();
    expect([await at.opened.row(id), await at.opened.lines(id)]).toEqual([undefined, []]);
  });
});

describe("the stream", () => {
  it("tells a page how its call is, numbered, and goes on where it was cut", async () => {
    const at = stage();
    const { id, bearer, request } = await at.running();
    const listen = (last?: string) => {
      const end = new AbortController();
      const answer = at.ctx.request("GET", `/calls/${id}/stream`, {
        headers: { authorization: `Bearer ${bearer}`, ...(last === undefined ? {} : { "last-event-id": last }) },
        signal: end.signal,
      });
      return { end, answer };
    };
    const first = listen();
    request.onText?.({ atMs: 0, durationMs: 1, text: "one" });
    await settled();
    first.end.abort();
    const { events } = await first.answer;
    const last = events.at(-1);
    expect([events[0]?.name, last?.name]).toEqual(["call", "line"]);
    request.onText?.({ atMs: 1, durationMs: 1, text: "two" });
    request.onCandidate?.({ candidate: "candidate:1" });
    await settled();
    const second = listen(last?.id);
    await settled();
    await at.post(`/calls/${id}/end`, {}, at.as(bearer));
    const rest = (await second.answer).events.slice(1);
    expect(rest.map(({ name }) => name)).toEqual(["candidate", "line", "ended"]);
    expect(rest.at(-1)?.data).toMatchObject({ words: "ended after 0 s by Ann" });
  });
});

it("a store that was away when the first call was placed takes the next one", async () => {
  const memory = createMemoryStore();
  let away = 1;
  const lease: typeof memory.lease = (name, ms) => (away-- > 0 ? Promise.reject(new Error("the database does not answer")) : memory.lease(name, ms));
  const at = stage({ store: { ...memory, lease } });
  await expect(at.opened.place({ kind: "call", to: "ada" }, {})).rejects.toThrow("does not answer");
  expect((await at.opened.place({ kind: "call", to: "ada" }, {})).call.row.agent).toBe("ada");
});
