import { svcError } from "./errors.ts";

/** One server-sent event. */
export interface ServerSentEvent {
  /** `message` where it has no name. */
  readonly event: string;
  readonly data: string;
  /** The last id that was given, by this event or one before it. */
  readonly id?: string;
}

/** Characters of one event, unless its reader says otherwise: more than any answer that is taken whole. */
const MOST_CHARS = 33_554_432;

/**
 * The events of a body that is a server-sent stream (`fetch.stream`), as they come; comments are passed over. Ends and throws as the body does, and
 * with `SVC_EVENT_STREAM_LARGE` for an event, or a line, of more than `maxChars` characters (default 32 million).
 */
export async function* readEventStream(
  body: AsyncIterable<Uint8Array>,
  { maxChars = MOST_CHARS }: { readonly maxChars?: number } = {},
): AsyncGenerator<ServerSentEvent> {
  const decoder = new TextDecoder();
  let held = "";
  let begun = "";
  let chars = 0;
  let id: string | undefined;
  let event = "";
  let data: string[] = [];
  for await (const chunk of body) {
    const text = held + decoder.decode(chunk, { stream: true });
    // A return at the end may be the first half of a line end.
    held = text.endsWith("\r") ? "\r" : "";
    const lines = (held === "" ? text : text.slice(0, -1)).split(/\r\n|\n|\r/);
    // Joined before it is looked at: a line that comes in many pieces is read once.
    lines[0] = begun + lines[0];
    begun = lines.pop() as string;
    for (const line of lines) {
      chars += line.length;
      requireSmall(chars, maxChars);
      if (line === "") {
        if (data.length > 0) yield { event: event || "message", data: data.join("\n"), ...(id === undefined ? {} : { id }) };
        event = "";
        data = [];
        chars = 0;
        continue;
      }
      const [, field = "", value = ""] = /^([^:]*):? ?([\s\S]*)$/.exec(line) ?? [];
      if (field === "data") data.push(value);
      else if (field === "event") event = value;
      else if (field === "id" && !value.includes("\0")) id = value;
    }
    requireSmall(chars + begun.length, maxChars);
  }
}

function requireSmall(chars: number, most: number): void {
  if (chars > most) throw svcError("SVC_EVENT_STREAM_LARGE", `One event of the stream has more than ${most} characters; it is not read on.`, { status: 502 });
}
