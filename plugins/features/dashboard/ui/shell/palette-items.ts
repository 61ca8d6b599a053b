import { useMe } from "../data/me.ts";
import { useResource } from "../data/resource.ts";
import { navigate } from "../data/router.tsx";
import { knownCommands } from "../kit/commands.ts";
import { type State, stateOf } from "../kit/glyph.tsx";
import type { IconName } from "../kit/icon.tsx";
import { SHELL } from "../words/shell.ts";
import { type LastRun, lastRun } from "./last-run.ts";
import { PAGES } from "./pages.ts";

/** One line of the palette. */
export interface PaletteItem {
  readonly id: string;
  readonly group: string;
  readonly icon: IconName;
  readonly title: string;
  /** At the right. */
  readonly note?: string | undefined;
  readonly state?: State | undefined;
  readonly key?: string | undefined;
  /** Agent of the line: its mark precedes the title. */
  readonly agent?: string | undefined;
  run(): void;
}

/** Kind of searched lines: all, or by the first character typed. */
export type PaletteMode = "all" | "commands" | "agents" | "work";

const MODES: Readonly<Record<string, PaletteMode>> = { ">": "commands", "@": "agents", "#": "work" };
const MOST_OF_GROUP = 5;
const MOST_GROUPS = 5;
const RECENT = "svc.recent";
const MOST_RECENT = 5;

interface Agent {
  readonly id: string;
  readonly name?: string;
  readonly active?: number;
}

interface Task {
  readonly id: string;
  readonly agent?: string;
  readonly status: string;
  readonly messagePreview?: string;
}

interface Workflow {
  readonly id: string;
  readonly name?: string;
  readonly lastRuns?: readonly LastRun[];
}

interface Run {
  readonly id: string;
  readonly workflowId?: string;
  readonly name?: string;
  readonly status: string;
}

/** Mode and words of what was typed. */
export function readTyped(typed: string): { readonly mode: PaletteMode; readonly words: string } {
  const mode = MODES[typed.charAt(0)];
  return mode === undefined ? { mode: "all", words: typed.trim() } : { mode, words: typed.slice(1).trim() };
}

/** All lines there are now; nothing is asked while the palette is closed. */
export function usePaletteItems(open: boolean): readonly PaletteItem[] {
  const { data: me } = useMe();
  const flows = open && me?.has.workflows === true;
  const agents = useResource<{ agents: readonly Agent[] }>(open ? "/api/agents" : undefined).data?.agents ?? [];
  const tasks = useResource<{ tasks: readonly Task[] }>(open ? "/api/task/history?limit=100" : undefined).data?.tasks ?? [];
  const workflows = useResource<{ workflows: readonly Workflow[] }>(flows ? "/api/workflows?runs=1" : undefined).data?.workflows ?? [];
  const runs = useResource<{ runs: readonly Run[] }>(flows ? "/api/workflows/runs?summary=1" : undefined).data?.runs ?? [];
  if (!open) return [];
  return [
    ...PAGES.filter(({ rail }) => rail !== undefined).map(({ path, title, icon, goKey }) => ({
      id: `page ${path}`,
      group: SHELL.pages,
      icon,
      title,
      key: `g ${goKey}`,
      run: () => navigate(path),
    })),
    ...agents.flatMap(agentItems),
    ...workflows.map(workflowItem),
    ...knownCommands().map(({ id, title, icon = "right", group = SHELL.commands, key, run }) => ({ id: `command ${id}`, group, icon, title, key, run })),
    ...tasks.map(taskItem),
    ...runs.map(runItem),
  ];
}

function agentItems({ id, name = id }: Agent): PaletteItem[] {
  const note = name === id ? undefined : name;
  const line = (what: string, icon: IconName, to: string): PaletteItem => ({
    id: `agent ${id} ${what}`,
    group: SHELL.agents,
    icon,
    title: `${id}: ${what}`,
    note,
    agent: id,
    run: () => navigate(to),
  });
  return [
    line(SHELL.chat, "chat", `/live?chat=${encodeURIComponent(id)}`),
    line(SHELL.itsTasks, "tasks", `/tasks?agent=${encodeURIComponent(id)}`),
    line(SHELL.settings, "admin", `/admin?item=${encodeURIComponent(id)}#agents`),
  ];
}

function workflowItem({ id, name = id, lastRuns }: Workflow): PaletteItem {
  return {
    id: `workflow ${id}`,
    group: SHELL.workflows,
    icon: "workflows",
    title: name,
    ...lastRun(lastRuns),
    run: () => navigate(`/workflows/editor?id=${encodeURIComponent(id)}`),
  };
}

const taskItem = ({ id, agent = "", status, messagePreview = "" }: Task): PaletteItem => ({
  id: `task ${id}`,
  group: SHELL.tasks,
  icon: "tasks",
  title: messagePreview || id,
  note: agent,
  agent,
  state: stateOf(status),
  run: () => navigate(`/tasks/${encodeURIComponent(id)}`),
});

const runItem = ({ id, workflowId, name, status }: Run): PaletteItem => ({
  id: `run ${id}`,
  group: SHELL.runs,
  icon: "processes",
  title: name ?? id,
  note: workflowId,
  state: stateOf(status),
  run: () => navigate(`/processes?run=${encodeURIComponent(id)}`),
});

const GROUPS_OF: Readonly<Record<PaletteMode, ((group: string) => boolean) | undefined>> = {
  all: undefined,
  commands: (group) => group !== SHELL.pages && group !== SHELL.agents && group !== SHELL.tasks && group !== SHELL.runs && group !== SHELL.workflows,
  agents: (group) => group === SHELL.agents,
  work: (group) => group === SHELL.tasks || group === SHELL.runs,
};

/** The lines that fit, by group, the best first; what was used last stands first while nothing is typed. */
export function chosen(items: readonly PaletteItem[], typed: string): readonly (readonly [group: string, items: readonly PaletteItem[]])[] {
  const { mode, words } = readTyped(typed);
  const among = GROUPS_OF[mode];
  const fitting = items
    .filter(({ group }) => among?.(group) ?? true)
    .map((item) => ({ item, rank: rankOf(item, words.toLowerCase()) }))
    .filter(({ rank }) => rank > 0)
    .sort((one, other) => other.rank - one.rank)
    .map(({ item }) => item);
  const recent = words === "" && mode === "all" ? recentOf(items) : [];
  const groups = new Map<string, PaletteItem[]>(recent.length === 0 ? [] : [[SHELL.recent, recent]]);
  for (const item of fitting) {
    if (recent.includes(item)) continue;
    const known = groups.get(item.group) ?? [];
    if (known.length < (mode === "all" ? MOST_OF_GROUP : MOST_OF_GROUP * 4)) groups.set(item.group, [...known, item]);
  }
  return [...groups].slice(0, MOST_GROUPS);
}

/** Where each word stands: at the beginning of the title, of one of its words, within it, or beside it; 0 where one is missing. */
function rankOf({ title, note = "" }: PaletteItem, words: string): number {
  if (words === "") return 1;
  const text = title.toLowerCase();
  let rank = 1;
  for (const word of words.split(/\s+/)) {
    const at = text.indexOf(word);
    if (at === 0) rank += 8;
    else if (at > 0) rank += /\W/.test(text.charAt(at - 1)) ? 4 : 2;
    else if (note.toLowerCase().includes(word)) rank += 1;
    else return 0;
  }
  return rank;
}

function recentIds(): readonly string[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(RECENT) ?? "[]");
    return Array.isArray(stored) ? stored.map(String) : [];
  } catch {
    return [];
  }
}

const recentOf = (items: readonly PaletteItem[]): PaletteItem[] => recentIds().flatMap((id) => items.filter((item) => item.id === id));

/** Notes that a line was used. */
export function noteUse({ id }: PaletteItem): void {
  try {
    localStorage.setItem(RECENT, JSON.stringify([id, ...recentIds().filter((one) => one !== id)].slice(0, MOST_RECENT)));
  } catch {
    // Not kept.
  }
}
