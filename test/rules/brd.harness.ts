import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { vi } from "vitest";
import type { BoardItems } from "../../plugins/features/boards/board-view.ts";
import boards from "../../plugins/features/boards/index.ts";
import { type Guarded, get, guarded, send } from "./auth.harness.ts";
import { startTracker, type Tracker } from "./tracker.harness.ts";

export const DAY = 86_400_000;
export const APP = "group/app";
export const HEADER = { "x-requested-with": "svc-board" };
export const STATUS = ["status::todo", "status::doing", "status::on-hold", "status::review"];
export const board = (more: object = {}) => ({ id: "team", name: "Team", source: { type: "forge_a", projects: [APP] }, ...more });

export interface Stage extends Guarded {
  readonly tracker: Tracker;
  items(): Promise<BoardItems>;
  /** Column ids with the numbers of their cards. */
  places(): Promise<Record<string, number[]>>;
  move(id: string, from: string | undefined, to: string, headers?: Record<string, string>): ReturnType<typeof send>;
  lines(): Promise<Record<string, unknown>[]>;
}

export async function stage({
  section = [board()] as readonly object[],
  tracker,
  ...rest
}: {
  section?: readonly object[];
  tracker?: Tracker;
  dashboard?: Record<string, unknown>;
} = {}) {
  const source = tracker ?? (await startTracker());
  for (const label of STATUS) source.labels.add(label);
  const at = await guarded({ ...rest, config: { boards: section }, plugins: [boards as never, source.plugin] });
  const items = async () => (await get(at.dashboard, "/api/boards/team/items")).body as unknown as BoardItems;
  return {
    ...at,
    tracker: source,
    items,
    places: async () => Object.fromEntries((await items()).columns.map((column) => [column.id, column.items.map(({ id }) => Number(id.split("#")[1]))])),
    move: (id, from, to, headers = HEADER) =>
      send(at.dashboard, `/api/boards/team/items/${encodeURIComponent(id)}/move`, { to, ...(from === undefined ? {} : { from }) }, headers, "PATCH"),
    lines: async () => {
      const text = await readFile(join(at.dataFolder, "board-audit.jsonl"), "utf8").catch(() => "");
      return text
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    },
  } satisfies Stage as Stage;
}

export const until = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: 20_000, interval: 10 });
