import { describe, expect, it } from "vitest";
import { OFFER, settled, stage } from "./calls.harness.ts";

const codeOf = (answer: { body: unknown }) => (answer.body as { code?: string }).code;
const stateOf = (answer: { body: unknown }) => (answer.body as { call: { state: string } }).call.state;

describe("offers", () => {
  it("a second answer is 409, one after the ring time 410, one of another call 403, one of no call 404, one without a bearer 401", async () => {
    const at = stage();
    const first = await at.running();
    const again = await at.post(`/calls/${first.id}/answer`, { offer: OFFER }, at.as(first.bearer));
    expect([again.status, codeOf(again)]).toEqual([409, "SVC_CALLS_ANSWERED"]);
    const late = await at.joined();
    expect(codeOf(await at.post(`/calls/${late.id}/answer`, { offer: OFFER }, at.as(first.bearer)))).toBe("SVC_CALLS_FOREIGN");
    expect((await at.post(`/calls/${late.id}/answer`, { offer: OFFER })).status).toBe(401);
    expect((await at.post(`/calls/c000000000000/answer`, { offer: OFFER }, at.as(first.bearer))).status).toBe(404);
    await at.clock.advance(45_000);
    const gone = await at.post(`/calls/${late.id}/answer`, { offer: OFFER }, at.as(late.bearer));
    expect([gone.status, (await at.opened.row(late.id))?.end?.reason]).toEqual([410, "missed"]);
    expect(at.far.opened).toHaveLength(1);
  });

  it("of two answers at once one is taken", async () => {
    const at = stage();
    const { id, bearer } = await at.joined();
    const answers = await Promise.all([1, 2, 3].map(() => at.post(`/calls/${id}/answer`, { offer: OFFER }, at.as(bearer))));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    expect(at.far.opened).toHaveLength(1);
  });

  it("one that is no SDP is 400, as is one that the media refuses; the call goes on ringing", async () => {
    const at = stage();
    const { id, bearer } = await at.joined();
    for (const offer of ["hello", undefined, "v=0"]) expect((await at.post(`/calls/${id}/answer`, { offer }, at.as(bearer))).status).toBe(400);
    at.far.state.refuses = Object.assign(new Error("The offer has no sound."), { status: 400, code: "SVC_CALL_OFFER" });
    expect(await at.post(`/calls/${id}/answer`, { offer: OFFER }, at.as(bearer))).toMatchObject({ status: 400, body: { error: "The offer has no sound." } });
    at.far.state.refuses = new Error("no port is free");
    expect(await at.post(`/calls/${id}/answer`, { offer: OFFER }, at.as(bearer))).toMatchObject({ status: 502, body: { code: "SVC_CALLS_CONNECTION" } });
    delete at.far.state.refuses;
    expect(stateOf(await at.post(`/calls/${id}/answer`, { offer: OFFER }, at.as(bearer)))).toBe("running");
  });

  it("a call that ends while its offer is answered leaves no media open", async () => {
    const at = stage();
    const { id, bearer } = await at.joined();
    const answering = at.post(`/calls/${id}/answer`, { offer: OFFER }, at.as(bearer));
    const ending = at.post(`/calls/${id}/end`, {}, at.as(bearer));
    const [answer] = await Promise.all([answering, ending]);
    await settled();
    expect([answer.status, at.far.opened.every(({ closed }) => closed !== undefined), at.clock.waiting]).toEqual([410, true, 0]);
  });

  it("candidates go to the media of their call, up to a hundred", async () => {
    const at = stage();
    const { id, bearer, request } = await at.running();
    // As browsers write one; a key that a later one adds is no reason to refuse it.
    const whole = { candidate: "candidate:1 1 udp 58597375 192.0.2.1 51327 typ relay", sdpMid: "0", sdpMLineIndex: 0, usernameFragment: "wPmk", later: 1 };
    expect((await at.post(`/calls/${id}/candidate`, { candidate: whole }, at.as(bearer))).status).toBe(200);
    const send = (n: number) => at.post(`/calls/${id}/candidate`, { candidate: { candidate: `candidate:${n}` } }, at.as(bearer));
    for (let n = 1; n < 100; n += 1) expect((await send(n)).status).toBe(200);
    expect([(await send(100)).status, request.candidates.length]).toEqual([429, 100]);
    const ringing = await at.joined();
    expect((await at.post(`/calls/${ringing.id}/candidate`, { candidate: { candidate: "x" } }, at.as(ringing.bearer))).status).toBe(409);
  });

  it("a hundred calls that are placed at once are 32, and the next one is placed when one has ended", async () => {
    const at = stage();
    const placed = await Promise.all(Array.from({ length: 100 }, () => at.post("/calls", { to: "ada" })));
    const taken = placed.filter(({ status }) => status === 201);
    expect([taken.length, placed.filter(({ status }) => status === 429).length]).toEqual([32, 68]);
    expect((await at.post("/calls", { to: "ada" })).status).toBe(429);
    const [first] = taken.map(({ body }) => (body as { call: { id: string } }).call.id);
    await at.post(`/calls/${first}/end`, {});
    expect((await at.post("/calls", { to: "ada" })).status).toBe(201);
  });

  it("another way through the network is for the page of a call that runs, fifty times", async () => {
    const at = stage();
    const ringing = await at.joined();
    const { id, bearer } = await at.running();
    const restart = (call: string, as: object, offer: unknown = OFFER) => at.post(`/calls/${call}/restart`, { offer }, as);
    expect((await restart(ringing.id, at.as(ringing.bearer))).status).toBe(409);
    expect((await restart(id, at.as(ringing.bearer))).status).toBe(403);
    expect((await restart(id, {})).status).toBe(401);
    for (let n = 0; n < 50; n += 1) expect(await restart(id, at.as(bearer))).toMatchObject({ status: 200, body: { answer: expect.stringContaining("again") } });
    expect((await restart(id, at.as(bearer))).status).toBe(429);
    await at.post(`/calls/${id}/end`, {}, at.as(bearer));
    expect((await restart(id, at.as(bearer))).status).toBe(410);
  });
});
