import type { Editor } from "@svc/kernel";
import { changeFile, openFile, putInForce, type Verdict } from "../change.ts";
import type { Cli } from "../cli.ts";
import { offlineCode } from "../kernel-code.ts";

/** The entries of `plugins`, as the document has them. */
export async function entriesOf(cli: Cli): Promise<readonly string[]> {
  return ((await openFile(cli)).get("plugins", true) ?? []) as readonly string[];
}

/** Does svc.json let that plugin run in a process of its own? By the package's name or the path. */
export async function isIsolated(cli: Cli, name: string): Promise<boolean> {
  const { readEntry } = offlineCode();
  return (await entriesOf(cli)).map(readEntry).some((entry) => entry.isolated && entry.name === name);
}

/** Entries to add to and remove from `plugins`, and related changes. */
interface EntriesChange {
  readonly add?: string;
  /** In a process of its own, or in the daemon's. */
  readonly isolated?: boolean;
  readonly drop?: string;
  readonly values?: Readonly<Record<string, string>>;
  readonly cut?: string;
}

type Kernel = typeof import("@svc/kernel");

/**
 * Changes `plugins` in place, together with other values. A plugin that is listed already keeps its isolation unless `isolated` says otherwise.
 * Returns undefined if nothing has to change.
 */
export async function changeEntries(cli: Cli, change: EntriesChange): Promise<Verdict | undefined> {
  const { readEntry, writeEntry } = offlineCode();
  const changed = await changeFile(cli, (editor) => edit(editor, change, readEntry, writeEntry), { backup: change.cut !== undefined });
  return changed.saved ? putInForce(cli, changed) : undefined;
}

function edit(editor: Editor, change: EntriesChange, readEntry: Kernel["readEntry"], writeEntry: Kernel["writeEntry"]): void {
  const entries = (editor.get("plugins", true) ?? []) as readonly string[];
  const at = (text: string) => {
    const wanted = readEntry(text);
    return entries.map(readEntry).findIndex(({ name, off }) => name === wanted.name && off === wanted.off);
  };
  const drop = change.drop === undefined ? -1 : at(change.drop);
  if (drop !== -1) editor.remove(`plugins.${drop}`);
  if (change.add !== undefined) {
    const known = at(change.add);
    const added = !change.add.startsWith("!") && change.isolated !== undefined ? writeEntry({ name: change.add, isolated: change.isolated }) : change.add;
    if (known === -1) editor.set(`plugins.${entries.length - (drop === -1 ? 0 : 1)}`, added);
    else if (change.isolated !== undefined && entries[known] !== added) editor.set(`plugins.${known - (drop !== -1 && drop < known ? 1 : 0)}`, added);
  }
  for (const [path, value] of Object.entries(change.values ?? {})) if (String(editor.get(path, true)) !== value) editor.set(path, value);
  if (change.cut !== undefined && editor.get(change.cut, true) !== undefined) editor.remove(change.cut);
}
