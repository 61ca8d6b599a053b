import { ask, pause } from "../daemon.harness.ts";

interface Envelope {
  readonly id: string;
}

/** Reads all events of a daemon over its lives, as an open dashboard does. */
export interface EventReader {
  readonly tally: { readonly events: number; readonly gaps: number };
  /** Answers what was read twice since the last time. */
  wrong(): string[];
  /** Breaks its connection. */
  cut(): void;
  stop(): Promise<void>;
}

/** `any` names the daemon; events of its peers are not read, which come again in its next life. What a broken stream left out is read from the recent events; what these no longer have is a gap. */
export function openEventReader(any: () => { readonly port: number } | undefined): EventReader {
  const tally = { events: 0, gaps: 0 };
  const over = new AbortController();
  let connection = new AbortController();
  /** Ids grow in the order in which they were given, which is not always that of their publication. */
  const read = new Map<string, object>();
  /** The life of the daemon that is read from. */
  let life: object = {};
  let last: string | undefined;
  let strange: string[] = [];

  const take = ({ id }: Envelope) => {
    // What a run tells after a kill it may have told before, under the same id: a crash may come between the two.
    if (read.has(id) && !(id.startsWith("run_") && read.get(id) !== life)) strange.push(`event ${id} came twice`);
    read.set(id, life);
    last = id;
    tally.events += 1;
  };

  /** Answers the ids that it has read. */
  async function catchUp(port: number): Promise<ReadonlySet<string>> {
    const seen = new Set<string>();
    if (last === undefined) return seen;
    for (let more = true; more; ) {
      const { body } = await ask<{ events: readonly Envelope[]; gap?: boolean; more?: boolean }>(
        port,
        `/events/recent?keep=oldest&limit=1000&origin=local&since=${last}`,
      );
      if (body.gap === true) tally.gaps += 1;
      for (const event of body.events) {
        seen.add(event.id);
        take(event);
      }
      more = body.more === true;
    }
    return seen;
  }

  async function readFrom(port: number): Promise<void> {
    connection = new AbortController();
    const signal = AbortSignal.any([over.signal, connection.signal]);
    const response = await fetch(`http://127.0.0.1:${port}/events?format=envelope&origin=local`, { signal });
    const held: Envelope[] = [];
    /** What the recent events had: the stream may tell it once more, before they were read or after. */
    let caught: ReadonlySet<string> | undefined;
    const caughtUp = catchUp(port).then((seen) => {
      caught = seen;
      for (const event of held.splice(0)) if (!seen.has(event.id)) take(event);
    });
    caughtUp.catch(() => undefined);
    let text = "";
    for await (const chunk of (response.body as ReadableStream<Uint8Array<ArrayBuffer>>).pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const frames = text.split("\n\n");
      text = frames.pop() ?? "";
      for (const frame of frames) {
        const data = /^data: (.*)$/m.exec(frame)?.[1];
        if (data === undefined) continue;
        const event = JSON.parse(data) as Envelope;
        if (caught === undefined) held.push(event);
        else if (!caught.has(event.id)) take(event);
      }
    }
    await caughtUp;
  }

  const reading = (async () => {
    while (!over.signal.aborted) {
      const at = any();
      if (at !== undefined) life = at;
      if (at !== undefined) await readFrom(at.port).catch(() => undefined);
      await pause(100);
    }
  })();

  return {
    tally,
    wrong() {
      const found = strange;
      strange = [];
      return found;
    },
    cut: () => connection.abort(),
    async stop() {
      over.abort();
      await reading;
    },
  };
}
