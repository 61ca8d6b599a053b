import { expect, it } from "vitest";
import { readEventStream } from "./event-stream.ts";

async function* streamOf(...chunks: readonly string[]) {
  for (const chunk of chunks) yield new TextEncoder().encode(chunk);
}

async function read(...chunks: readonly string[]) {
  const events = [];
  for await (const event of readEventStream(streamOf(...chunks))) events.push(event);
  return events;
}

const STREAM = 'id: 1\nevent: text\ndata: {"a":1}\n\n: still there\n\ndata: one\ndata: two\n\nid: 3\ndata:tight\n\nretry: 5\nevent: nothing\n\ndata: cut off';

it("reads names, ids and data of several lines; comments and what is cut off are no events", async () => {
  expect(await read(STREAM)).toEqual([
    { event: "text", data: '{"a":1}', id: "1" },
    { event: "message", data: "one\ntwo", id: "1" },
    { event: "message", data: "tight", id: "3" },
  ]);
});

it("does not mind how it is cut, nor which line ends it has", async () => {
  const whole = await read(STREAM);
  for (const text of [STREAM, STREAM.replaceAll("\n", "\r\n"), STREAM.replaceAll("\n", "\r")])
    expect(await read(...text), JSON.stringify(text.slice(0, 9))).toEqual(whole);
});

it("an event that does not end is read to its limit and no further, in one line and in many", async () => {
  const piece = new TextEncoder().encode("x".repeat(1_000));
  for (const [begin, more] of [
    ["data: ", piece],
    ["", new TextEncoder().encode("data: x\n")],
    ["", new TextEncoder().encode("nothing\r")],
  ] as const) {
    let given = 0;
    async function* endless() {
      yield new TextEncoder().encode(begin);
      for (;;) {
        given += more.length;
        yield more;
      }
    }
    await expect(readEventStream(endless(), { maxChars: 100_000 }).next()).rejects.toMatchObject({ code: "SVC_EVENT_STREAM_LARGE", status: 502 });
    expect(given).toBeLessThan(130_000);
  }
  // The limit is that of one event.
  const events = [];
  for await (const event of readEventStream(streamOf(...Array.from({ length: 50 }, () => `data: ${"y".repeat(900)}\n\n`)), { maxChars: 1_000 }))
    events.push(event);
  expect(events).toHaveLength(50);
});
