import type { Command, Script } from "./guard-shell.ts";

/** Why the options and operands make a reading command do more than read; undefined when they do not. */
type Rule = (operands: readonly string[]) => string | undefined;

const free: Rule = () => undefined;

/** None of these options, in any spelling: `-o x`, `-ox`, `-no`, `--output=x`, `--outp x`. */
function without(short: string, long: readonly string[] = []): Rule {
  return (operands) => {
    for (const operand of operands) {
      if (operand === "--") return undefined;
      if (operand.startsWith("--")) {
        const name = operand.slice(2).split("=")[0] as string;
        // GNU programs take any unambiguous beginning of a long name.
        const hit = long.find((option) => option.startsWith(name));
        if (hit !== undefined) return `--${hit} writes or runs something`;
      } else if (operand.startsWith("-") && [...operand.slice(1)].some((letter) => short.includes(letter))) return `${operand} writes or runs something`;
    }
    return undefined;
  };
}

const only =
  (allowed: RegExp, what: string): Rule =>
  (operands) =>
    operands.every((operand) => allowed.test(operand)) ? undefined : what;
const atMostOneOperand: Rule = (operands) => (operands.filter((operand) => !operand.startsWith("-")).length > 1 ? "its second operand is written" : undefined);
const exactly =
  (...names: readonly string[]): Rule =>
  (operands) =>
    operands.some((operand) => names.includes(operand.split("=")[0] as string)) ? "it writes or runs something" : undefined;

const FREE =
  "ls pwd echo cat head tail wc du df whoami id uname uptime free ps which basename dirname realpath readlink stat grep egrep fgrep cut tr comm diff cmp nl tac rev fold column jq md5sum sha1sum sha256sum true false sleep cd".split(
    " ",
  );

const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ...FREE.map((name) => [name, free] as const),
  // `-v` takes an array's name, and bash runs what stands in its brackets.
  ["printf", without("v")],
  ["sort", without("oST", ["output", "compress-program", "temporary-directory"])],
  ["uniq", atMostOneOperand],
  ["tree", without("oR", ["output"])],
  ["file", without("C", ["compile"])],
  ["date", only(/^(\+.*|-[uRI]|--utc|--iso-8601.*|--rfc-.*)$/, "it may set the clock")],
  ["hostname", only(/^-[fsidI]+$/, "it may set the name")],
  ["rg", without("", ["pre", "hostname-bin", "search-zip"])],
  ["find", exactly("-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls")],
  [
    "sed",
    (operands) =>
      operands[0] === "-n" && /^[\d$,;p ]+$/.test(operands[1] ?? "") && !operands.slice(2).some((operand) => operand.startsWith("-"))
        ? undefined
        : "only `sed -n '<lines>p'` is known to read",
  ],
  ["git", git],
  ["gh", forge],
  ["glab", forge],
]);

const GIT_WRITES = without("O", ["output", "ext-diff", "textconv", "filters", "open-files-in-pager", "exec-path", "upload-pack"]);
const GIT_READS = new Set(
  "status log show diff blame rev-parse ls-files ls-tree cat-file describe shortlog rev-list name-rev merge-base for-each-ref count-objects grep whatchanged version".split(
    " ",
  ),
);
const GIT_LISTS: Readonly<Record<string, RegExp>> = {
  branch: /^(-a|-r|-v|-vv|--all|--remotes|--list|--show-current|--sort=.*|--format=.*)$/,
  tag: /^(-l|--list|-n\d*|--sort=.*|--format=.*)$/,
  remote: /^(-v|--verbose)$/,
};
const GIT_PHRASES = [
  "stash list",
  "stash show",
  "config --list",
  "config -l",
  "config --get",
  "config --get-all",
  "config get",
  "config list",
  "remote get-url",
  "worktree list",
  "submodule status",
  "reflog show",
];

function git(operands: readonly string[]): string | undefined {
  // Other switches before the subcommand change which programs git runs.
  let rest = operands;
  while (rest[0] === "--no-pager" || rest[0] === "-C") rest = rest.slice(rest[0] === "-C" ? 2 : 1);
  const [name = "", ...more] = rest;
  if (GIT_WRITES(more) !== undefined) return GIT_WRITES(more);
  if (GIT_READS.has(name)) return undefined;
  const list = GIT_LISTS[name];
  if (list !== undefined && more.every((operand) => list.test(operand))) return undefined;
  return GIT_PHRASES.includes(`${name} ${more[0] ?? ""}`) || (name === "reflog" && more.length === 0) ? undefined : `git ${name} is not known to only read`;
}

function forge([topic = "", verb = ""]: readonly string[]): string | undefined {
  const known = /^(pr|mr|issue|release|run|repo|ci|workflow|label|milestone)$/.test(topic) && /^(view|list|diff|status|checks)$/.test(verb);
  return known ? undefined : "it is not known to only read";
}

/** Why a shell text is more than reading; undefined when every command in it is known to read. */
export function refuseToReport({ commands, dynamic }: Script): string | undefined {
  if (dynamic) return "a command with variables, substitutions, groups or loops cannot be known to only read";
  if (commands.length === 0) return "there is no command";
  for (const command of commands) {
    const reason = refuseCommand(command);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

function refuseCommand({ assignments, words, writes }: Command): string | undefined {
  const file = writes.find(({ text }) => text !== "/dev/null");
  if (file !== undefined) return `it writes ${file.text}`;
  const name = words[0]?.text ?? "";
  if (assignments.length > 0) return "a variable set for a command may change what it does";
  const rule = RULES.get(name);
  if (rule === undefined) return `'${name}' is not known to only read`;
  const operands = words.slice(1);
  if (rule !== free && operands.some(({ globs }) => globs))
    return `file names in the place of '${operands.find(({ globs }) => globs)?.text}' may look like options of ${name}`;
  const reason = rule(operands.map(({ text }) => text));
  return reason === undefined ? undefined : `${name}: ${reason}`;
}
