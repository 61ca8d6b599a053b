/** The first bytes of a stream. Later bytes are read, counted and discarded. */
export interface KeptOutput {
  push(chunk: Buffer): void;
  readonly truncated: boolean;
  /** As UTF-8, cut on a character boundary. */
  text(): string;
}

/** Keeps at most `maxBytes`. */
export function createKeptOutput(maxBytes: number): KeptOutput {
  const chunks: Buffer[] = [];
  let room = maxBytes;
  let truncated = false;
  return {
    push(chunk) {
      if (chunk.length > room) truncated = true;
      if (room === 0) return;
      const kept = chunk.length > room ? Buffer.from(chunk.subarray(0, room)) : chunk;
      chunks.push(kept);
      room -= kept.length;
    },
    get truncated() {
      return truncated;
    },
    // A decoder that expects more keeps a character cut in half to itself.
    text: () => new TextDecoder("utf-8", { ignoreBOM: true }).decode(Buffer.concat(chunks), { stream: truncated }),
  };
}
