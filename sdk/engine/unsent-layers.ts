import { createHash } from "node:crypto";
import type { Store } from "../store.ts";
import type { Layer } from "../tier.ts";
import { conversationRows } from "./conversation-rows.ts";

/** Layers that a session was sent last: a digest each. */
interface Sent {
  readonly session: string;
  readonly digests: Readonly<Record<string, string>>;
}

/** Layers about the conversation. All others, such as `artifacts`, are about one message and are sent with it. */
const STANDING: ReadonlySet<string> = new Set(["channel rules", "scope", "landscape", "identity", "references", "wiki hint"]);

/** Layers of a turn that must be sent now. */
export interface UnsentLayers {
  readonly layers: readonly Layer[];
  /** Call it when the turn has succeeded in this session: only then the session surely holds the layers. */
  keep(session: string): Promise<void>;
}

/**
 * Returns the layers that a session does not hold yet. `session` is the engine's own, unset where it begins one now: then all of them. A layer that
 * the session holds and the turn lacks is revoked by a text. The sent digests are stored, so that a restart does not repeat them.
 */
export async function unsentLayers(store: Store, conversation: string, session: string | undefined, layers: readonly Layer[]): Promise<UnsentLayers> {
  const stored = conversationRows<Sent>(store, "layers");
  const before = session === undefined ? undefined : await stored.get(conversation);
  const sent = before !== undefined && before.session === session ? before.digests : {};
  const texts = new Map<string, string[]>();
  for (const { name, text } of layers) if (STANDING.has(name) && text !== "") texts.set(name, [...(texts.get(name) ?? []), text]);
  const digests = Object.fromEntries([...texts].map(([name, all]) => [name, createHash("sha256").update(all.join("\n\n")).digest("base64url").slice(0, 16)]));
  const over = Object.keys(sent).filter((name) => !(name in digests));
  return {
    layers: [
      ...layers.filter(({ name }) => digests[name] === undefined || digests[name] !== sent[name]),
      ...over.map((name) => ({ name, priority: 0, text: `What you were told under "${name}" does not apply any more.` })),
    ],
    async keep(now) {
      const same = now === session && over.length === 0 && Object.entries(digests).every(([name, digest]) => sent[name] === digest);
      if (!same) await stored.put(conversation, { session: now, digests });
    },
  };
}
