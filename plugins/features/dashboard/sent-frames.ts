/** A server-sent event that came in. */
export interface SentFrame {
  readonly name: string;
  readonly data: unknown;
  readonly id?: string;
}

/** The longest frame that is read: more is no event of ours. */
const MOST_CHARS = 4_194_304;

/** Reads server-sent events off a body as they come; data that is no JSON stays text. */
export async function* readFrames(body: AsyncIterable<Uint8Array>): AsyncGenerator<SentFrame> {
  const decoder = new TextDecoder();
  let waiting = "";
  let carriage = "";
  for await (const chunk of body) {
    const text = carriage + decoder.decode(chunk, { stream: true });
    // Its line feed may come with the next chunk.
    carriage = text.endsWith("\r") ? "\r" : "";
    // What came before holds no end of a frame, but perhaps the first half of one.
    let from = Math.max(0, waiting.length - 1);
    waiting += text.slice(0, text.length - carriage.length).replaceAll("\r\n", "\n");
    for (let end = waiting.indexOf("\n\n", from); end >= 0; end = waiting.indexOf("\n\n", from)) {
      const frame = frameOf(waiting.slice(0, end));
      waiting = waiting.slice(end + 2);
      from = 0;
      if (frame !== undefined) yield frame;
    }
    if (waiting.length > MOST_CHARS) throw new Error("a frame is longer than what is read");
  }
}

function frameOf(text: string): SentFrame | undefined {
  let [name, id] = ["message", undefined as string | undefined];
  const lines: string[] = [];
  for (const line of text.split("\n")) {
    const [, field, value = ""] = /^(event|data|id): ?(.*)$/.exec(line) ?? [];
    if (field === "event") name = value;
    else if (field === "id") id = value;
    else if (field === "data") lines.push(value);
  }
  if (lines.length === 0) return undefined;
  return { name, data: parsed(lines.join("\n")), ...(id === undefined ? {} : { id }) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
