import { SCRIPTS } from "../completion/scripts.ts";
import { fail } from "../errors.ts";
import type { OwnGroup } from "../group.ts";

const group: OwnGroup = {
  name: "completion",
  summary: "Print a completion script for bash, zsh or fish",
  commands: [
    {
      name: "completion",
      args: "<shell> [words...]",
      summary: "Print a completion script for bash, zsh or fish; the scripts ask 'completion words' what may follow",
      async run([shell, ...words], _options, cli) {
        if (shell === "words") {
          const { completeWords } = await import("../completion/words.js");
          const found = await completeWords(words, cli);
          cli.print(found.join("\n"), found);
          return;
        }
        const script = SCRIPTS[shell as string];
        if (script === undefined) throw fail("SVC_CLI_USAGE", { reason: `There is no completion for '${shell}'; choose bash, zsh or fish` });
        cli.print(script, { shell, script });
      },
    },
  ],
};

export default group;
