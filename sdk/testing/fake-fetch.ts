import type { GuardedFetch, StreamingFetch } from "../fetch.ts";

/** A fake that answers whole, with the streaming form beside it: the same answer, in one piece. One that brings its own keeps it. */
export function streamingFetch(fetch: GuardedFetch | StreamingFetch): StreamingFetch {
  if ("stream" in fetch) return fetch;
  const stream: StreamingFetch["stream"] = async (url, { idleMs: _, ...init } = {}) => {
    const { body, text: _text, truncated: _truncated, ...head } = await fetch(url, init);
    return { ...head, body: onePiece(body) };
  };
  return Object.assign(((url, init) => fetch(url, init)) satisfies GuardedFetch, { stream });
}

async function* onePiece(body: Uint8Array): AsyncGenerator<Uint8Array> {
  if (body.length > 0) yield body;
}
