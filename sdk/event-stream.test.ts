import { expect, it } from "vitest";
import { readEventStream } from "./event-stream.ts";

async function read(...chunks: readonly string[]) {
  async function* body() {
    for (const chunk of chunks) yield new TextEncoder().encode(chunk);
  }
  const events = [];
  for await (const event of readEventStream(body())) events.push(event);
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
