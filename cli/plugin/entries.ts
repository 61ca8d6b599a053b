import { applyChange, openFile, type Verdict } from "../change.ts";
import type { Cli } from "../cli.ts";

/** The entries of `plugins`, as the document has them. */
export async function entriesOf(cli: Cli): Promise<readonly string[]> {
  return ((await openFile(cli)).get("plugins", true) ?? []) as readonly string[];
}

/** Does svc.json let that plugin run in a process of its own? By the package's name or the path. */
export async function isIsolated(cli: Cli, name: string): Promise<boolean> {
  const { readEntry } = await import("@svc/kernel");
  return (await entriesOf(cli)).map(readEntry).some((entry) => entry.isolated && entry.name === name);
}

/**
 * Change `plugins` in place, and other values with it: what is to be there, what not. A plugin that is there already stays where it runs
 * unless `isolated` says otherwise. Undefined when all is so already.
 */
export async function changeEntries(
  cli: Cli,
  change: {
    readonly add?: string;
    /** In a process of its own, or in the daemon's. */
    readonly isolated?: boolean;
    readonly drop?: string;
    readonly values?: Readonly<Record<string, string>>;
    readonly cut?: string;
  },
): Promise<Verdict | undefined> {
  const { readEntry, writeEntry } = await import("@svc/kernel");
  const editor = await openFile(cli);
  const entries = (editor.get("plugins", true) ?? []) as readonly string[];
  const at = (text: string) => {
    const wanted = readEntry(text);
    return entries.map(readEntry).findIndex(({ name, off }) => name === wanted.name && off === wanted.off);
  };
  let changed = false;
  const drop = change.drop === undefined ? -1 : at(change.drop);
  if (drop !== -1) {
    editor.remove(`plugins.${drop}`);
    changed = true;
  }
  if (change.add !== undefined) {
    const known = at(change.add);
    const added = !change.add.startsWith("!") && change.isolated !== undefined ? writeEntry({ name: change.add, isolated: change.isolated }) : change.add;
    if (known === -1) editor.set(`plugins.${entries.length - (drop === -1 ? 0 : 1)}`, added);
    else if (change.isolated !== undefined && entries[known] !== added) editor.set(`plugins.${known - (drop !== -1 && drop < known ? 1 : 0)}`, added);
    changed ||= known === -1 || (change.isolated !== undefined && entries[known] !== added);
  }
  for (const [path, value] of Object.entries(change.values ?? {})) {
    if (String(editor.get(path, true)) === value) continue;
    editor.set(path, value);
    changed = true;
  }
  if (change.cut !== undefined && editor.get(change.cut, true) !== undefined) {
    editor.remove(change.cut);
    changed = true;
  }
  return changed ? applyChange(cli, editor, { backup: change.cut !== undefined }) : undefined;
}
