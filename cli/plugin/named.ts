import type { Cli } from "../cli.ts";
import { offlineCode } from "../kernel-code.ts";
import { entriesOf } from "./entries.ts";
import { look } from "./look.ts";
import { idOf, installedSubject, isPath, type Subject, subjectAt } from "./subject.ts";

/**
 * A plugin by its path, its package's name, or its id: among the installed ones and the paths in svc.json. Only the code of a single file has its id;
 * it is run for that. Throws `SVC_CLI_MISSING`.
 */
export async function subjectNamed(cli: Cli, word: string): Promise<Subject> {
  if (isPath(word)) return subjectAt(cli, word);
  const { readEntry } = offlineCode();
  const paths = (await entriesOf(cli)).map(readEntry).filter(({ name, off }) => !off && isPath(name));
  for (const { name, isolated } of paths) {
    const subject = attempt(() => subjectAt(cli, name, cli.folder));
    if (subject === undefined) continue;
    const id = subject.folder === undefined ? (await look(cli, subject).catch(() => undefined))?.id : idOf(subject.folder);
    if (id === word) return { ...subject, entry: name, isolated };
  }
  return installedSubject(cli, word);
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
