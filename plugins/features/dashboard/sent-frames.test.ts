import { expect, it } from "vitest";
import { readFrames, type SentFrame } from "./sent-frames.ts";

async function* bytesOf(chunks: readonly string[]) {
  for (const chunk of chunks) yield new TextEncoder().encode(chunk);
}

it.each(["\n", "\r\n"])("every frame is read, wherever the body is cut (line ends %j)", async (end) => {
  const body = ["id: 1", "event: text", 'data: {"a":1}', "", ": ping", "", "data: two", "data: lines", "", ""].join(end);
  for (let cut = 0; cut <= body.length; cut += 1)
    for (const chunks of [[body.slice(0, cut), body.slice(cut)], [...body]]) {
      const frames: SentFrame[] = [];
      for await (const frame of readFrames(bytesOf(chunks))) frames.push(frame);
      expect(frames, `cut at ${cut}`).toEqual([
        { name: "text", data: { a: 1 }, id: "1" },
        { name: "message", data: "two\nlines" },
      ]);
    }
});
