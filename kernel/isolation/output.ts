import type { Readable } from "node:stream";
import { createLines } from "../capabilities/processes/lines.ts";
import type { IsolationLimits } from "./isolation-limits.ts";

/** Options of capturing a process's output outside of its frames. */
export interface OutputOptions {
  readonly limits: IsolationLimits;
  /** A line for the log; absent before there is one. */
  readonly line?: (line: string) => void;
  /** Lines that did not reach the log. */
  readonly dropped: (count: number) => void;
  /** Called when it writes without end. */
  readonly flooded: () => void;
}

/** V8's message when its heap is full, or on another fatal error. */
const LAST_WORDS = /^FATAL ERROR: .*/;

/** Follows standard output and standard error; answers the engine's last words, which say why a process died. The plugin's own stay in the log. */
export function followOutput(streams: readonly Readable[], { limits, line, dropped, flooded }: OutputOptions): () => string {
  let words = "";
  let began = 0;
  let lines = 0;
  let bytes = 0;
  const renew = () => {
    const now = performance.now();
    if (now - began >= limits.outputWindowMs) [began, lines, bytes] = [now, 0, 0];
  };
  const heard = (text: string) => {
    renew();
    words = LAST_WORDS.exec(text)?.[0].slice(0, 200) ?? words;
    lines += 1;
    if (lines > limits.outputLines) dropped(1);
    else line?.(text);
  };
  for (const stream of streams) {
    const cut = createLines({ maxBytes: limits.outputLineBytes, line: heard });
    stream.on("data", (chunk: Buffer) => {
      renew();
      bytes += chunk.length;
      if (bytes > limits.outputBytes) flooded();
      else cut.push(chunk);
    });
    stream.on("end", () => cut.end());
    stream.on("error", () => undefined);
  }
  return () => words;
}
