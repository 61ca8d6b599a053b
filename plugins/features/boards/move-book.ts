import { type Collection, type PluginContext, svcError, type WorkChange } from "@svc/sdk";

/** In the data folder. */
const FILE = "board-audit.jsonl";

/** A move, as a line of the audit file has it. */
export interface NotedMove {
  readonly actor: string;
  readonly action: "move";
  readonly boardId: string;
  readonly itemId: string;
  readonly payload: { readonly from: string; readonly to: string } & WorkChange;
}

/**
 * One line of `.svc/board-audit.jsonl` for each move that the source has confirmed, and none for another (BRD-04). A move is a row of the
 * store while it is under way, so that a daemon that dies between the source's answer and the line can still write it.
 */
export class MoveBook {
  readonly #ctx: Pick<PluginContext, "files" | "log">;
  readonly #rows: Collection<NotedMove>;

  constructor(ctx: Pick<PluginContext, "files" | "log" | "store">) {
    this.#ctx = ctx;
    this.#rows = openRows(ctx);
  }

  /** Before the source is asked. */
  async begin(move: NotedMove): Promise<string> {
    const key = crypto.randomUUID();
    try {
      await this.#rows.put(key, move);
    } catch (error) {
      throw svcError("SVC_BOARD_STORE", "The move was not begun: the daemon's store takes nothing in; see svc doctor.", { status: 503, cause: error });
    }
    return key;
  }

  /** The source has done it. Never rejects: an error here would have the card go back on a page alone. */
  async done(key: string, move: NotedMove): Promise<void> {
    try {
      await this.#ctx.files.data.append(FILE, `${JSON.stringify({ ts: new Date().toISOString(), ...move })}\n`);
      await this.#rows.delete(key);
    } catch (error) {
      this.#ctx.log.error(
        { board: move.boardId, item: move.itemId, actor: move.actor, err: error },
        `a card was moved, and ${FILE} or the store could not be written`,
      );
    }
  }

  /** The source has not done it. */
  async drop(key: string): Promise<void> {
    await this.#rows.delete(key).catch((error) => this.#ctx.log.warn({ err: error }, "a move that did not happen could not be forgotten"));
  }

  /** Moves whose end is not known. */
  async open(): Promise<readonly (readonly [key: string, move: NotedMove])[]> {
    return (await this.#rows.list({ limit: 1_000 })).map(({ key, value }) => [key, value]);
  }
}

/** Moves under way. */
export const openRows = ({ store }: Pick<PluginContext, "store">): Collection<NotedMove> => store.collection<NotedMove>("moves");
