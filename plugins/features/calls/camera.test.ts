import { describe, expect, it } from "vitest";
import { jpeg, settled, stage, TestClock } from "./calls.harness.ts";
import { callChannel } from "./channel.ts";
import { sizeOfJpeg } from "./jpeg.ts";

const codeOf = (answer: { body: unknown }) => (answer.body as { code?: string }).code;

/** A camera session that is on. */
async function session(given: Parameters<typeof stage>[0] = {}) {
  const at = stage(given);
  const { id } = ((await at.post("/calls", { to: "chat", kind: "camera", why: "the leak" })).body as { call: { id: string } }).call;
  await at.press(id, "answer");
  const [, code] = /camera\/c[0-9a-f]+#(\S+)/.exec(at.sentTo("chat").at(-1) ?? "") ?? [];
  const { bearer, ...facts } = (await at.post(`/calls/${id}/join`, { code })).body as { bearer: string };
  await at.post(`/calls/${id}/answer`, {}, at.as(bearer));
  const send = (n: number, raw: Uint8Array) => at.ctx.request("POST", `/calls/${id}/frame`, { query: { n: String(n) }, raw, ...at.as(bearer) });
  const ask = async () => (await at.post(`/calls/${id}/ask`)).body as { frame: number };
  return { at, id, bearer, facts, send, ask };
}

const bot = (more: object) => ({
  camera: {
    width: 640,
    height: 480,
    frameRate: 15,
    maxSeconds: 600,
    bot: { frameIntervalSeconds: 0, maxSessionMinutes: 10, maxFrameEdge: 1024, keepFrames: false, ...more },
  },
});

describe("a camera session", () => {
  it("CHAN-09 hands a frame that was asked for to the agent as a picture, and shows its words on the page", async () => {
    const { at, id, bearer, facts, send, ask } = await session({ answer: () => new Promise(() => {}) });
    expect(facts).toMatchObject({ camera: { width: 1280, maxFrameEdge: 1024 } });
    expect(JSON.stringify(facts)).not.toContain("password");
    expect(at.far.opened).toEqual([]);
    const { frame } = await ask();
    const picture = jpeg(1024, 576);
    expect((await send(frame, picture)).status).toBe(200);
    const message = at.tasks.accepted.at(-1);
    expect(message).toMatchObject({
      entry: "channel",
      channel: "calls",
      chat: id,
      agent: "ada",
      media: [{ kind: "image", type: "image/jpeg", handle: `${id}/1` }],
    });
    expect(message?.text).toContain("1024 x 576 pixels");
    expect(at.opened.camera.fetch(message?.media?.[0] as never).data).toEqual(picture);
    const end = new AbortController();
    const listening = at.ctx.request("GET", `/calls/${id}/stream`, at.as(bearer, { signal: end.signal }));
    await settled();
    await callChannel(async () => at.opened).send({ target: { channel: "calls", chat: id }, text: "", plain: "A cat.", key: "k", agent: "ada" }, end.signal);
    end.abort();
    expect((await listening).events).toContainEqual(expect.objectContaining({ name: "message", data: { key: "k", text: "A cat.", agent: "ada" } }));
  });

  it("CHAN-09 keeps no file: the kernel's copy goes with the task, and none is written; with keepFrames each is", async () => {
    for (const keepFrames of [false, true]) {
      const content = new Map<string, string | Uint8Array>();
      const { at, send, ask } = await session({ content, rules: bot({ keepFrames }) });
      const { frame } = await ask();
      const folder = at.ctx.files.data;
      await folder.write("media/task_1/0123.jpg", "the copy for the turn");
      await send(frame, jpeg(640, 480));
      await settled();
      expect([...content.keys()].filter((path) => path.endsWith(".jpg"))).toHaveLength(keepFrames ? 1 : 0);
    }
  });

  it("CHAN-09 interval 0: only on request; an interval: one at a time, and none while the agent is still at the last one", async () => {
    const quiet = await session();
    await quiet.at.clock.advance(300_000);
    expect((await quiet.send(1, jpeg(10, 10))).status).toBe(409);
    const asked: (() => void)[] = [];
    const { send, at } = await session({ rules: bot({ frameIntervalSeconds: 10 }), answer: () => new Promise((resolve) => asked.push(() => resolve({}))) });
    expect((await send(1, jpeg(10, 10))).status).toBe(200);
    await at.clock.advance(60_000);
    expect((await send(2, jpeg(10, 10))).status).toBe(409);
    asked[0]?.();
    await settled();
    await at.clock.advance(10_000);
    expect((await send(2, jpeg(10, 10))).status).toBe(200);
  });

  it("takes what was asked for, once, and in time; what is larger than maxFrameEdge or no JPEG is refused in words", async () => {
    const { at, send, ask } = await session();
    expect(codeOf(await send(1, jpeg(10, 10)))).toBe("SVC_CALLS_FRAME_UNASKED");
    const { frame } = await ask();
    expect(await send(frame, jpeg(1025, 10))).toMatchObject({
      status: 413,
      body: { error: expect.stringContaining("1025 x 10 pixels; channels.webrtc.camera.bot.maxFrameEdge is 1024") },
    });
    for (const bytes of [new Uint8Array(), Buffer.from("GIF89a"), jpeg(10, 10).subarray(0, 30), Buffer.from("ffd8ffffffffffd9", "hex")])
      expect(codeOf(await send(frame, bytes))).toBe("SVC_CALLS_FRAME");
    expect((await send(frame, jpeg(1024, 1024))).status).toBe(200);
    expect(codeOf(await send(frame, jpeg(10, 10)))).toBe("SVC_CALLS_FRAME_UNASKED");
    const late = await ask();
    await at.clock.advance(30_000);
    expect(codeOf(await send(late.frame, jpeg(10, 10)))).toBe("SVC_CALLS_FRAME_UNASKED");
  });

  it("four pictures at most wait for the agent", async () => {
    const { send, ask, at, id } = await session({ answer: () => new Promise(() => {}) });
    for (let n = 1; n <= 4; n += 1) await send((await ask()).frame, jpeg(10, 10));
    expect(await at.post(`/calls/${id}/ask`)).toMatchObject({ status: 429, body: { code: "SVC_CALLS_FRAMES" } });
  });

  it("ends at the smaller of camera.maxSeconds and camera.bot.maxSessionMinutes, and takes no frame after", async () => {
    const clock = new TestClock();
    const { at, id, send, ask } = await session({ clock, rules: bot({ maxSessionMinutes: 2 }) });
    const { frame } = await ask();
    await clock.advance(119_999);
    expect(at.opened.live(id)).toBeDefined();
    await clock.advance(1);
    expect([(await at.opened.row(id))?.end?.reason, (await send(frame, jpeg(10, 10))).status, clock.waiting]).toEqual(["limit", 410, 0]);
  });

  it("an agent's words that come after the end go where the transcript goes", async () => {
    const { at, id, bearer } = await session();
    await at.post(`/calls/${id}/end`, {}, at.as(bearer));
    await settled();
    const send = (chat: string) =>
      callChannel(async () => at.opened).send(
        { target: { channel: "calls", chat }, text: "", plain: "A *cat*.", key: "k", agent: "ada" },
        new AbortController().signal,
      );
    await send(id);
    expect(at.sentTo("notes").at(-1)).toBe("A \\*cat\\*.");
    await expect(send("c000000000000")).rejects.toMatchObject({ failure: "permanent" });
  });

  it("a picture of before a restart is gone, in words; a call has no frames", async () => {
    const { at } = await session();
    expect(() => at.opened.camera.fetch({ kind: "image", handle: "c1/1" })).toThrow("frames are not kept over a restart");
    const call = await at.running();
    expect(codeOf(await at.post(`/calls/${call.id}/ask`))).toBe("SVC_CALLS_CAMERA");
  });
});

describe("the size of a JPEG", () => {
  it("stands in its frame header, whatever comes before; nothing is read beyond the bytes", () => {
    expect(sizeOfJpeg(jpeg(640, 480))).toEqual({ width: 640, height: 480 });
    const whole = jpeg(4_000, 3_000);
    for (let length = 0; length < whole.length; length += 1) expect(() => sizeOfJpeg(whole.subarray(0, length))).toThrow("no frame");
    expect(() => sizeOfJpeg(jpeg(0, 480))).toThrow("how large");
  });
});
