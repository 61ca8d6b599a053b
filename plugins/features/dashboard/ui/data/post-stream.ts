import { failed, type RequestOptions, send } from "./request.ts";

/** Options of a streamed answer, with the callback for its frames. */
export interface StreamOptions extends RequestOptions {
  onFrame(name: string, data: unknown): void;
}

/** Reads the streamed answer of a request to its end: each frame as it comes. Rejects with an `ApiError` where the request is refused. */
export async function stream(method: string, path: string, body: unknown, { onFrame, ...options }: StreamOptions): Promise<void> {
  const answer = await send(method, path, body, { ...options, headers: { accept: "text/event-stream", ...options.headers } });
  if (!answer.ok) throw await failed(answer);
  if (answer.body === null) return;
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    waiting += value.replaceAll("\r\n", "\n");
    for (let end = waiting.indexOf("\n\n"); end >= 0; end = waiting.indexOf("\n\n")) {
      const frame = frameOf(waiting.slice(0, end));
      waiting = waiting.slice(end + 2);
      if (frame !== undefined) onFrame(frame.name, frame.data);
    }
  }
}

/** One frame as it came over the wire; undefined for a comment. */
export function frameOf(text: string): { readonly name: string; readonly data: unknown } | undefined {
  let name = "message";
  const lines: string[] = [];
  for (const line of text.split("\n")) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) lines.push(line.slice(5).replace(/^ /, ""));
  }
  if (lines.length === 0) return undefined;
  const data = lines.join("\n");
  try {
    return { name, data: JSON.parse(data) };
  } catch {
    return { name, data };
  }
}
