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
  for await (const chunk of body) {
    waiting += decoder.decode(chunk, { stream: true }).replaceAll("\r\n", "\n");
    for (let end = waiting.indexOf("\n\n"); end >= 0; end = waiting.indexOf("\n\n")) {
      const frame = frameOf(waiting.slice(0, end));
      waiting = waiting.slice(end + 2);
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
