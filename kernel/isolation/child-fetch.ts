import type { FetchAnswer, FetchHead, StreamingFetch } from "@svc/sdk";
import type { Ask } from "./child-calls.ts";
import type { RpcPeer } from "./peer.ts";

/** `ctx.fetch` over the wire. A body comes as the items of a stream: the window of the wire is its back-pressure. */
export function remoteFetch(ask: Ask, peer: Pick<RpcPeer, "stream">): StreamingFetch {
  async function whole(url: string, { signal, ...init }: Parameters<StreamingFetch>[1] = {}): Promise<FetchAnswer> {
    const answer = await ask<Omit<FetchAnswer, "text">>("fetch", { url, init }, signal);
    // A decoder that expects more keeps a character cut in half to itself.
    return { ...answer, text: () => new TextDecoder("utf-8", { ignoreBOM: true }).decode(answer.body, { stream: answer.truncated }) };
  }
  const stream: StreamingFetch["stream"] = async (url, { signal, ...init } = {}) => {
    const items = peer.stream("fetch.stream", { url, init }, signal)[Symbol.asyncIterator]();
    const { value: head } = await items.next();
    return { ...(head as FetchHead), body: bodyOf(items as AsyncIterator<Uint8Array>) };
  };
  return Object.assign(whole, { stream });
}

async function* bodyOf(items: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    for (;;) {
      const { value, done } = await items.next();
      if (done) return;
      yield value;
    }
  } finally {
    await items.return?.();
  }
}
