/** One server-sent event. */
export interface ServerSentEvent {
  /** `message` where it has no name. */
  readonly event: string;
  readonly data: string;
  /** The last id that was given, by this event or one before it. */
  readonly id?: string;
}

/** The events of a body that is a server-sent stream (`fetch.stream`), as they come; comments are passed over. Ends and throws as the body does. */
export async function* readEventStream(body: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  const decoder = new TextDecoder();
  let waiting = "";
  let id: string | undefined;
  let event = "";
  let data: string[] = [];
  for await (const chunk of body) {
    // A return at the end may be the first half of a line end.
    const lines = (waiting + decoder.decode(chunk, { stream: true })).split(/\r\n|\n|\r(?!$)/);
    waiting = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "") {
        if (data.length > 0) yield { event: event || "message", data: data.join("\n"), ...(id === undefined ? {} : { id }) };
        event = "";
        data = [];
        continue;
      }
      const [, field = "", value = ""] = /^([^:]*):? ?([\s\S]*)$/.exec(line) ?? [];
      if (field === "data") data.push(value);
      else if (field === "event") event = value;
      else if (field === "id" && !value.includes("\0")) id = value;
    }
  }
}
