import { type PluginContext, svcError, type WorkItem } from "@svc/sdk";
import { type BoardItems, type BoardLabels, type BoardView, type Card, cardOf, changesOf, columnView } from "./board-view.ts";
import { CardOrder } from "./card-order.ts";
import { type Column, type ColumnId, changeOf, columnsOf, placeOf } from "./columns.ts";
import { MoveBook, type NotedMove } from "./move-book.ts";
import type { BoardSettings } from "./settings.ts";
import { ask, findSource, isListed, projectOf, sourceOf } from "./source.ts";

const DAY_MS = 86_400_000;
/** Cards of one state that a board reads, as many as a source may list. */
const CAP = 1_000;

/** A move of a card, with its actor. Without `from` the source is asked first for the card's column. */
export interface Move {
  readonly from?: string | undefined;
  readonly to: string;
  readonly actor: string;
}

/** Where a card is after a move, as the source has answered. */
export interface Moved {
  readonly board: string;
  readonly item: Card;
}

/** The boards of svc.json over the sources that plugins bring. Keeps no card: the source has them. */
export class Boards {
  readonly #ctx: PluginContext<readonly BoardSettings[]>;
  readonly #settings: () => readonly BoardSettings[];
  readonly #order = new CardOrder();
  readonly #book: MoveBook;
  /** Where this daemon last saw or put a card. A hint: it decides when the source is asked before a move, and nothing else. */
  readonly #seen = new Map<string, ColumnId | null>();
  readonly #reading = new Map<string, Promise<BoardItems>>();

  constructor(ctx: PluginContext<readonly BoardSettings[]>, settings: () => readonly BoardSettings[]) {
    this.#ctx = ctx;
    this.#settings = settings;
    this.#book = new MoveBook(ctx);
  }

  /** Notes the moves that the source had confirmed, or may have, when the daemon ended before it could note them. */
  async settle(): Promise<void> {
    for (const [key, move] of await this.#book.open()) {
      const board = this.#settings().find(({ id }) => id === move.boardId);
      if (board === undefined) await this.#book.drop(key);
      else
        await this.#order
          .run(cardKey(board, move.itemId), () => this.#arrived(board, key, move))
          .catch((error) =>
            this.#ctx.log.warn(
              { board: board.id, item: move.itemId, err: error },
              "whether a card was moved before the restart is not known yet; asked again at the next start",
            ),
          );
    }
  }

  list(): readonly BoardView[] {
    return this.#settings().map((board) => {
      const { id, name, source, labels, timeRangeDays, closedWindowDays } = board;
      const found = findSource(source.type, this.#ctx.services);
      const columns = columnsOf(board.columns);
      return {
        id,
        name,
        source,
        available: found !== undefined,
        movable: found?.update !== undefined,
        labels,
        columns: columns.map(columnView),
        changes: changesOf(columns),
        timeRangeDays,
        closedWindowDays,
      };
    });
  }

  /** The cards as the source has them now; who asks while it is being asked gets the same answer. */
  items(id: string): Promise<BoardItems> {
    const board = this.#board(id);
    const reading = this.#reading.get(id);
    if (reading !== undefined) return reading;
    const read = this.#read(board).finally(() => this.#reading.delete(id));
    this.#reading.set(id, read);
    return read;
  }

  /** Returns the labels of a source's projects, for the columns of a board that may not exist yet. Throws 409 if the source cannot list them. */
  async labels(source: BoardSettings["source"]): Promise<BoardLabels> {
    const board = { id: "(new)", source };
    const found = findSource(source.type, this.#ctx.services);
    if (found === undefined)
      throw svcError("SVC_BOARD_SOURCE_UNKNOWN", `No running plugin brings the source '${source.type}'; enable that plugin or channel in svc.json.`, {
        status: 404,
      });
    if (found.labels === undefined)
      throw svcError("SVC_BOARD_LABELS", `The source '${source.type}' does not say which labels it has; write them as they are there.`, { status: 409 });
    const read = found.labels.bind(found);
    const labels = await ask(board, this.#ctx.signal, (signal) => read(source.projects, signal));
    return { labels, columns: columnsOf().map(columnView) };
  }

  /** Refuses what can be known without asking the source: an unknown board, another project's card. */
  requireCard(id: string, itemId: string): void {
    const board = this.#board(id);
    const project = projectOf(itemId);
    if (project !== undefined && !board.source.projects.includes(project)) throw unlisted(board, itemId);
  }

  /** Moves one card by one change at the source. Throws the source's own status where it refuses; nothing is noted then. */
  move(id: string, itemId: string, move: Move): Promise<Moved> {
    this.requireCard(id, itemId);
    return this.#order.run(cardKey(this.#board(id), itemId), () => this.#moveNow(this.#board(id), itemId, move));
  }

  #board(id: string): BoardSettings {
    const found = this.#settings().find((board) => board.id === id);
    if (found === undefined) throw svcError("SVC_BOARD_UNKNOWN", `There is no board '${id}'; see svc board list.`, { status: 404 });
    return found;
  }

  async #read(board: BoardSettings): Promise<BoardItems> {
    const source = sourceOf(board, this.#ctx.services);
    const columns = columnsOf(board.columns);
    const readAt = Date.now();
    const { projects } = board.source;
    const labels = board.primaryToolLabel === undefined ? {} : { labels: [board.primaryToolLabel] };
    const query = (state: WorkItem["state"], windowDays: number) =>
      ask(board, this.#ctx.signal, (signal) => source.list({ projects, ...labels, state, since: readAt - windowDays * DAY_MS, limit: CAP }, signal));
    const [open, closed] = await Promise.all([query("open", board.timeRangeDays), query("closed", board.closedWindowDays)]);
    const found = [
      ...open.filter(({ updatedAt }) => updatedAt >= readAt - board.timeRangeDays * DAY_MS),
      ...closed.filter((item) => isRecent(item, board, readAt)),
    ];
    const items = found.filter((item) => isListed(board, item) && hasPrimary(item, board));
    const cards = items.map((item) => cardOf(item, placeOf(item, columns)));
    for (const card of cards) this.#see(board, card);
    return {
      board: board.id,
      readAt,
      columns: columns.map((column) => ({ ...columnView(column), items: cards.filter((card) => card.column === column.id) })),
      unplaced: cards.filter(({ column }) => column === null),
      truncated: open.length >= CAP || closed.length >= CAP,
    };
  }

  async #moveNow(board: BoardSettings, itemId: string, { from: asked, to: target, actor }: Move): Promise<Moved> {
    const columns = columnsOf(board.columns);
    const to = columnOf(target, columns, board, "to");
    const told = asked === undefined ? undefined : columnOf(asked, columns, board, "from");
    const source = sourceOf(board, this.#ctx.services);
    if (source.update === undefined)
      throw svcError("SVC_BOARD_READ_ONLY", `source does not support transitions: '${board.source.type}' of the board '${board.id}' can only be read`, {
        status: 409,
      });
    const from = await this.#from(board, itemId, told, columns);
    if (from.id === to.id) throw svcError("SVC_BOARD_SAME", `The card is in '${to.title}' already.`, { status: 409 });
    const change = changeOf(from, to, columns);
    const update = source.update.bind(source);
    const noted = { actor, action: "move", boardId: board.id, itemId, payload: { from: from.id, to: to.id, ...change } } as const;
    const key = await this.#book.begin(noted);
    let item: WorkItem | undefined;
    try {
      item = await ask(board, this.#ctx.signal, (signal) => update(itemId, change, signal));
      await this.#book.done(key, noted);
    } catch (error) {
      if (isRefusal(error)) await this.#book.drop(key);
      // The outcome is unknown: ask the source once where the card is.
      else item = await this.#arrived(board, key, noted).catch(() => undefined);
      if (item === undefined) throw error;
    }
    const card = cardOf(item, placeOf(item, columns));
    this.#see(board, card);
    return { board: board.id, item: card };
  }

  /**
   * Where the card is moved from. The caller's word counts, without a question to the source, unless this daemon knows better or cannot tell
   * from the id which project it is: then the source is asked, and a caller who was wrong is told the place (409).
   */
  async #from(board: BoardSettings, itemId: string, told: Column | undefined, columns: readonly Column[]): Promise<Column> {
    const seen = this.#seen.get(keyOf(board, itemId));
    if (told !== undefined && projectOf(itemId) !== undefined && (seen === undefined || seen === told.id)) return told;
    const source = sourceOf(board, this.#ctx.services);
    const item = await ask(board, this.#ctx.signal, (signal) => source.get(itemId, signal));
    if (item === undefined) throw svcError("SVC_BOARD_ITEM", `The source '${board.source.type}' has no card '${itemId}'.`, { status: 404 });
    if (!isListed(board, item)) throw unlisted(board, itemId);
    const place = placeOf(item, columns);
    const card = cardOf(item, place);
    this.#see(board, card);
    if (told !== undefined && place?.id !== told.id)
      throw svcError("SVC_BOARD_MOVED", `The card is no longer in '${told.title}' but in ${place === undefined ? "no column" : `'${place.title}'`}.`, {
        status: 409,
        item: card,
      });
    if (place !== undefined) return place;
    // In no column: an open card with a label of the scope that none maps. It leaves nothing that a board may take away.
    return { id: "triage", title: "no column", kind: "open-backlog" };
  }

  /** The item, where the source has it in the column it was to enter: then the move is noted. */
  async #arrived(board: BoardSettings, key: string, move: NotedMove): Promise<WorkItem | undefined> {
    const source = sourceOf(board, this.#ctx.services);
    const item = await ask(board, this.#ctx.signal, (signal) => source.get(move.itemId, signal));
    if (item === undefined || placeOf(item, columnsOf(board.columns))?.id !== move.payload.to) {
      await this.#book.drop(key);
      return undefined;
    }
    await this.#book.done(key, move);
    return item;
  }

  #see(board: BoardSettings, { id, column }: Card): void {
    const key = keyOf(board, id);
    this.#seen.delete(key);
    this.#seen.set(key, column);
    if (this.#seen.size > 20 * CAP) this.#seen.delete(this.#seen.keys().next().value as string);
  }
}

const cardKey = ({ source }: BoardSettings, itemId: string): string => `${source.type} ${itemId}`;

/** The source has said no: it has done nothing. */
const isRefusal = (error: unknown): boolean => {
  const { code, status = 500 } = error as { code?: string; status?: number };
  return code === "SVC_BOARD_SOURCE" && status < 500;
};

const keyOf = ({ id }: BoardSettings, itemId: string): string => `${id} ${itemId}`;

/** A source that reads closed issues by their last update, as forges do, lists some that were closed long ago. */
const isRecent = ({ closedAt, updatedAt }: WorkItem, { closedWindowDays }: BoardSettings, now: number): boolean =>
  (closedAt ?? updatedAt) >= now - closedWindowDays * DAY_MS;

const hasPrimary = ({ labels }: WorkItem, { primaryToolLabel }: BoardSettings): boolean => primaryToolLabel === undefined || labels.includes(primaryToolLabel);

const unlisted = ({ id }: BoardSettings, itemId: string) =>
  svcError("SVC_BOARD_PROJECT", `The card '${itemId}' is of no project of the board '${id}'; see boards[].source.projects in svc.json.`, { status: 404 });

function columnOf(id: string, columns: readonly Column[], board: BoardSettings, field: "from" | "to"): Column {
  const found = columns.find((column) => column.id === id);
  if (found === undefined)
    throw svcError("SVC_BOARD_COLUMN", `The board '${board.id}' has no column '${id}'; it has ${columns.map((one) => one.id).join(", ")}.`, {
      status: 400,
      field,
    });
  return found;
}
