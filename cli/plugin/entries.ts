import { applyChange, openFile, type Verdict } from "../change.ts";
import type { Cli } from "../cli.ts";

/** The entries of `plugins`, as the document has them. */
export async function entriesOf(cli: Cli): Promise<readonly string[]> {
  return ((await openFile(cli)).get("plugins", true) ?? []) as readonly string[];
}

/** Change `plugins` in place, and other values with it: what is to be there, what not. Undefined when all is so already. */
export async function changeEntries(
  cli: Cli,
  change: { readonly add?: string; readonly drop?: string; readonly values?: Readonly<Record<string, string>>; readonly cut?: string },
): Promise<Verdict | undefined> {
  const editor = await openFile(cli);
  const entries = (editor.get("plugins", true) ?? []) as readonly string[];
  let changed = false;
  const drop = change.drop === undefined ? -1 : entries.indexOf(change.drop);
  if (drop !== -1) {
    editor.remove(`plugins.${drop}`);
    changed = true;
  }
  if (change.add !== undefined && !entries.includes(change.add)) {
    editor.set(`plugins.${entries.length - (drop === -1 ? 0 : 1)}`, change.add);
    changed = true;
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
