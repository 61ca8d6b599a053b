import type { Collection, PluginContext, Turn, TurnContext } from "@svc/sdk";

/** A layer of a stored context. */
export interface StoredLayer {
  readonly name: string;
  readonly text: string;
  /** Characters that the agent was given; more than `text` where the copy is shortened. */
  readonly characters: number;
  /** Characters before it was cut to fit; absent where nothing was. */
  readonly whole?: number;
}

/** Context of a task, as it was sent to the engine. Four characters count as about one token. */
export interface StoredContext {
  readonly at: number;
  readonly strategy?: string;
  /** The native session that went on; absent where a new one began. */
  readonly session?: string;
  readonly layers: readonly StoredLayer[];
  /** The stable preamble. */
  readonly system: StoredLayer;
  readonly prompt: StoredLayer;
  readonly history: readonly { readonly role: "user" | "assistant"; readonly text: string }[];
  readonly historyCharacters: number;
  readonly media: number;
}

const COLLECTION = "contexts";
/** Of one text; a longer one is kept to here. */
const MOST = 24_000;
/** Contexts that are kept, the newest. */
const KEPT = 1_000;
/** Writes between two looks at how many there are. */
const LOOK_EVERY = 100;

/** Keeps what agents are told, for the page of one task: the newest thousand. */
export class TaskContexts {
  readonly #rows: Collection<StoredContext>;
  readonly #log: PluginContext["log"];
  #writes = 0;

  constructor({ store, log }: Pick<PluginContext, "store" | "log">) {
    this.#rows = store.collection<StoredContext>(COLLECTION);
    this.#log = log;
  }

  async get(task: string): Promise<StoredContext | undefined> {
    return (await this.#rows.get(task))?.value;
  }

  /** Notes what the agent is told for a turn; what fails is logged and disturbs nothing. */
  keep(context: TurnContext, turn: Turn): void {
    this.#rows
      .put(turn.id, storedOf(context, turn.startedAt))
      .then(() => this.#trim())
      .catch((error) => this.#log.warn({ err: error, task: turn.id }, "the context of a task was not kept for its page"));
  }

  async #trim(): Promise<void> {
    this.#writes += 1;
    if (this.#writes % LOOK_EVERY !== 1) return;
    const over = (await this.#rows.count()) - KEPT;
    if (over <= 0) return;
    for (const { key } of await this.#rows.list({ limit: Math.min(1_000, over) })) await this.#rows.delete(key);
  }
}

function storedOf({ system, layers, prompt, media, session, strategy, history }: TurnContext, at: number): StoredContext {
  let left = MOST;
  const kept = history.map(({ role, text }) => {
    const part = text.slice(0, Math.max(0, left));
    left -= text.length;
    return { role, text: part };
  });
  return {
    at,
    ...(strategy === undefined ? {} : { strategy }),
    ...(session === undefined ? {} : { session }),
    layers: [...layers].sort((one, other) => one.priority - other.priority).map(({ name, text, whole }) => layerOf(name, text, whole)),
    system: layerOf("system", system),
    prompt: layerOf("prompt", prompt),
    history: kept.filter(({ text }) => text !== ""),
    historyCharacters: history.reduce((sum, { text }) => sum + text.length, 0),
    media: media.length,
  };
}

const layerOf = (name: string, text: string, whole?: number): StoredLayer => ({
  name,
  text: text.slice(0, MOST),
  characters: text.length,
  ...(whole === undefined ? {} : { whole }),
});
