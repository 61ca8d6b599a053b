/** The program under its own name, or as npx runs it. */
const CALL = "if command -v svc > /dev/null 2>&1; then command svc completion words -- $1; else npx --no-install svc completion words -- $1; fi 2> /dev/null";

/** Completion scripts by shell. The words are read from `svc completion words`, so that a script stays correct when plugins, agents or channels change. */
export const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `# svc completion for bash. Load it with: source <(svc completion bash)
# With npx put an alias before it: alias svc='npx svc'
_svc_words() { ${CALL.replaceAll("$1", '"$@"')}; }
_svc() {
  local word
  COMPREPLY=()
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(_svc_words "\${COMP_WORDS[@]:1:COMP_CWORD}")
}
complete -F _svc svc`,
  zsh: `#compdef svc
# svc completion for zsh. Load it with: source <(svc completion zsh)
# With npx put an alias before it: alias svc='npx svc'
_svc_words() { ${CALL.replaceAll("$1", '"$@"')}; }
_svc() { local -a found; found=("\${(@f)$(_svc_words "\${(@)words[2,CURRENT]}")}"); (( \${#found} )) && compadd -- "\${found[@]}"; }
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
compdef _svc svc`,
  fish: `# svc completion for fish. Load it with: svc completion fish | source
# With npx put a function before it: function svc; npx svc $argv; end
function __svc_words
  set -l words (commandline -opc) (commandline -ct)
  if command -q svc
    command svc completion words -- $words[2..] 2> /dev/null
  else
    npx --no-install svc completion words -- $words[2..] 2> /dev/null
  end
end
complete -c svc -f -a "(__svc_words)"`,
};
