import { describeVerdict, openFile } from "../change.ts";
import type { Cli } from "../cli.ts";
import { offlineCode } from "../kernel-code.ts";
import { changeEntries } from "./entries.ts";
import { subjectNamed } from "./named.ts";
import { changingTree } from "./pinned.ts";

/** Removes a plugin: its name and its section of svc.json, its pin, its files. Its stored data stays in the data folder. */
export async function remove(cli: Cli, word: string): Promise<void> {
  const subject = await subjectNamed(cli, word);
  const section = subject.pkg?.svc?.section;
  // Without its plugin the section is an unknown key, and svc.json would no longer be valid.
  const cut = section === undefined ? undefined : (await openFile(cli)).get(section, true);
  const verdict = await changeEntries(cli, { drop: subject.entry, ...(section === undefined ? {} : { cut: section }) });
  if (subject.kind === "package") {
    await changingTree(cli, async (root) => {
      const { readPins, writePins } = offlineCode();
      const { [subject.entry]: _, ...rest } = await readPins(cli.dataFolder);
      await writePins(cli.dataFolder, rest);
      await root.uninstall(subject.entry);
    });
  }
  cli.print(
    [
      `${subject.entry} is removed.`,
      ...(cut === undefined ? [] : [`Its section ${section} was taken out of ${cli.file}, which would not be valid with it; the old file is kept beside it.`]),
      ...(verdict === undefined ? [] : [describeVerdict(verdict)]),
    ].join("\n"),
    { entry: subject.entry, ...(cut === undefined ? {} : { section }), ...verdict },
  );
}
