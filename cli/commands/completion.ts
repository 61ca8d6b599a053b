import { fail } from "../errors.ts";
import type { OwnGroup } from "../group.ts";

const group: OwnGroup = {
  name: "completion",
  summary: "Print a completion script for bash, zsh or fish",
  commands: [
    {
      name: "completion",
      args: "<shell>",
      summary: "Print a completion script for bash, zsh or fish",
      async run([shell], _options, cli) {
        const words = new Map<string, readonly string[]>();
        for (const entry of cli.groups()) {
          const loaded = await entry.load();
          const names = loaded.commands.map(({ name }) => name);
          words.set(entry.name, names.length === 1 && names[0] === entry.name ? [] : names);
        }
        const script = SCRIPTS[shell as string];
        if (script === undefined) throw fail("SVC_CLI_USAGE", { reason: `There is no completion for '${shell}'; choose bash, zsh or fish` });
        cli.print(script(words), { shell, script: script(words) });
      },
    },
  ],
};

export default group;

type Words = ReadonlyMap<string, readonly string[]>;

const SCRIPTS: Readonly<Record<string, (words: Words) => string>> = {
  bash: (words) => `# svc completion for bash; load it with: source <(svc completion bash)
_svc() {
  local word="\${COMP_WORDS[COMP_CWORD]}"
  if [ "$COMP_CWORD" -eq 1 ]; then COMPREPLY=($(compgen -W "${[...words.keys()].join(" ")}" -- "$word")); return; fi
  case "\${COMP_WORDS[1]}" in
${[...words].map(([group, names]) => `    ${group}) [ "$COMP_CWORD" -eq 2 ] && COMPREPLY=($(compgen -W "${names.join(" ")}" -- "$word")) ;;`).join("\n")}
  esac
}
complete -F _svc svc`,
  zsh: (words) => `#compdef svc
# svc completion for zsh; load it with: source <(svc completion zsh)
_svc() {
  if (( CURRENT == 2 )); then compadd ${[...words.keys()].join(" ")}; return; fi
  (( CURRENT == 3 )) || return
  case "$words[2]" in
${[...words]
  .filter(([, names]) => names.length > 0)
  .map(([group, names]) => `    ${group}) compadd ${names.join(" ")} ;;`)
  .join("\n")}
  esac
}
compdef _svc svc`,
  fish: (words) => `# svc completion for fish; load it with: svc completion fish | source
complete -c svc -f
complete -c svc -n __fish_use_subcommand -a "${[...words.keys()].join(" ")}"
${[...words]
  .filter(([, names]) => names.length > 0)
  .map(([group, names]) => `complete -c svc -n "__fish_seen_subcommand_from ${group}" -a "${names.join(" ")}"`)
  .join("\n")}`,
};
