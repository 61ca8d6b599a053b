import { type Line, options, Refused, readLine } from "./guard-options.ts";

/*
 * git as a reader. Its settings can run programs at almost every command, so these rules are one half only: the other is the
 * environment below, which takes the sharp ones away, and the shadow repository (guard-shadow.ts), which has settings of ours.
 */

/** git's environment in restricted runs: no settings of the machine or the user, no hooks, watchers, transports, editors or pagers. */
export function gitEnvironment(): Record<string, string> {
  const settings: Readonly<Record<string, string>> = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.sshCommand": "/bin/false",
    "core.pager": "cat",
    "core.editor": "/bin/false",
    "core.askPass": "/bin/false",
    "credential.helper": "",
    "diff.external": "",
    "safe.bareRepository": "explicit",
    "safe.directory": "*",
    "protocol.allow": "never",
    "log.showSignature": "false",
    "commit.gpgSign": "false",
    "tag.gpgSign": "false",
    "gpg.program": "/bin/false",
    "gpg.ssh.program": "/bin/false",
    "gpg.x509.program": "/bin/false",
    "submodule.recurse": "false",
    "diff.ignoreSubmodules": "all",
    "diff.autoRefreshIndex": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
  };
  const named = Object.entries(settings).flatMap(([name, value], at) => [
    [`GIT_CONFIG_KEY_${at}`, name],
    [`GIT_CONFIG_VALUE_${at}`, value],
  ]);
  return {
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_ATTR_NOSYSTEM: "1",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_TERMINAL_PROMPT: "0",
    GIT_EDITOR: "/bin/false",
    GIT_SEQUENCE_EDITOR: "/bin/false",
    GIT_ASKPASS: "/bin/false",
    SSH_ASKPASS: "/bin/false",
    GIT_PAGER: "cat",
    PAGER: "cat",
    GIT_CONFIG_COUNT: String(Object.keys(settings).length),
    ...Object.fromEntries(named),
  };
}

/** A git command as it may run. */
export interface GitCommand {
  /** The folder of `-C`. */
  readonly folder?: string;
  readonly words: readonly string[];
  /** Words that may be file names. */
  readonly named: readonly string[];
  /** Creates this branch and moves to it. */
  readonly branch?: string;
}

const DIFF =
  "psU:zWawbBMCDRS:G:n:q# patch no-patch stat? numstat shortstat dirstat? summary name-only name-status raw unified= minimal patience histogram anchored= diff-algorithm= color? no-color word-diff? word-diff-regex? color-words? full-index binary abbrev? no-abbrev find-renames? find-copies? find-copies-harder no-renames irreversible-delete diff-filter= pickaxe-all pickaxe-regex ignore-space-at-eol ignore-cr-at-eol ignore-space-change ignore-all-space ignore-blank-lines inter-hunk-context= function-context exit-code quiet text src-prefix= dst-prefix= no-prefix cached staged merge-base compact-summary relative? no-relative check follow no-ext-diff no-textconv";
const LOG = `${DIFF.replace(" ", "iEFPgL:mc ")} oneline pretty? format? max-count= skip= since= after= until= before= author= committer= grep= all-match invert-grep regexp-ignore-case extended-regexp fixed-strings perl-regexp merges no-merges min-parents= max-parents= first-parent all branches? tags? remotes? glob= exclude= graph decorate? no-decorate decorate-refs= decorate-refs-exclude= date= relative-date abbrev-commit no-abbrev-commit parents children left-right left-only right-only cherry-pick cherry-mark cherry topo-order date-order author-date-order reverse walk-reflogs boundary simplify-by-decoration full-history ancestry-path? source count no-walk? log-size cc dd use-mailmap`;

/** Without a renderer of the workspace's: every command that prints differences. */
const PLAIN = ["--no-ext-diff", "--no-textconv"];

interface Reader {
  readonly notation: string;
  readonly adds?: readonly string[];
  readonly check?: (line: Line) => void;
}

const has = ({ options: found }: Line, ...names: readonly string[]): boolean => found.some(({ name }) => names.includes(name));
const listing =
  (...names: readonly string[]) =>
  (line: Line): void => {
    if (line.operands.length > 0 && !has(line, ...names)) throw new Refused("it may make or move a name; add --list");
  };
const none = ({ operands }: Line): void => {
  if (operands.length > 0) throw new Refused(`'${operands[0]?.slice(0, 60)}' is not known to only read`);
};

const READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  [
    "status",
    {
      notation:
        "sbzvu short branch show-stash porcelain? long verbose untracked-files? ignored? column? no-column ahead-behind no-ahead-behind renames no-renames find-renames?",
    },
  ],
  ["log", { notation: LOG, adds: PLAIN }],
  ["show", { notation: LOG, adds: PLAIN }],
  ["whatchanged", { notation: LOG, adds: PLAIN }],
  ["diff", { notation: DIFF, adds: PLAIN }],
  ["diff-tree", { notation: `${DIFF.replace(" ", "rtmcv ")} root stdin no-commit-id cc`, adds: PLAIN }],
  ["range-diff", { notation: LOG, adds: ["--no-ext-diff"] }],
  ["rev-list", { notation: LOG }],
  [
    "shortlog",
    {
      notation: "nsec numbered summary email committer group= format= since= until= after= before= all no-merges merges author= grep= max-count= first-parent",
    },
  ],
  [
    "blame",
    {
      notation:
        "bltfnsepwcL:MC root show-stats line-porcelain porcelain incremental date= show-name show-number show-email abbrev= since= reverse first-parent ignore-rev=",
    },
  ],
  [
    "branch",
    {
      notation:
        "arvli all remotes list show-current verbose sort= format= color? no-color column? no-column contains? no-contains? merged? no-merged? points-at= abbrev= no-abbrev ignore-case",
      check: listing("-l", "--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"),
    },
  ],
  [
    "tag",
    {
      notation: "lni# list sort= format= color? column? no-column contains? no-contains? merged? no-merged? points-at= ignore-case",
      check: listing("-l", "--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"),
    },
  ],
  ["remote", { notation: "v verbose", check: remote }],
  [
    "ls-files",
    {
      notation:
        "cdmoistvzufkx: cached deleted modified others ignored stage unmerged killed exclude= exclude-standard directory no-empty-directory error-unmatch full-name abbrev? eol deduplicate",
    },
  ],
  ["ls-tree", { notation: "drtlz name-only name-status object-only full-name full-tree abbrev? format= long" }],
  ["cat-file", { notation: "ptse" }],
  [
    "rev-parse",
    {
      notation:
        "q verify quiet short? abbrev-ref? symbolic symbolic-full-name show-toplevel show-prefix show-cdup git-dir git-common-dir absolute-git-dir is-inside-work-tree is-inside-git-dir is-bare-repository is-shallow-repository all branches? tags? remotes? since= until= after= before= default= revs-only no-revs flags no-flags not sq show-object-format?",
    },
  ],
  ["describe", { notation: "all tags contains long always abbrev= match= exclude= first-parent dirty? broken? exact-match candidates=" }],
  ["name-rev", { notation: "tags refs= exclude= all name-only no-undefined always" }],
  [
    "grep",
    {
      notation:
        "niwvlLcohHEFGPe:A:B:C:pWqzrIam:# untracked cached line-number ignore-case word-regexp invert-match files-with-matches name-only files-without-match count only-matching extended-regexp fixed-strings perl-regexp basic-regexp after-context= before-context= context= show-function function-context heading break color? no-color all-match and or not max-depth= max-count= text full-name",
      adds: ["--no-textconv"],
    },
  ],
  ["reflog", { notation: LOG, check: reflog }],
  ["for-each-ref", { notation: "count= sort= format= points-at= merged? no-merged? contains? no-contains? ignore-case" }],
  ["show-ref", { notation: "dsq head heads tags dereference hash? verify abbrev? quiet" }],
  ["show-branch", { notation: "ar all remotes current list more= topo-order date-order" }],
  ["merge-base", { notation: "a all is-ancestor octopus independent fork-point" }],
  ["cherry", { notation: "v abbrev=" }],
  ["count-objects", { notation: "vH verbose human-readable", check: none }],
  ["check-ignore", { notation: "qvzn quiet verbose non-matching no-index" }],
  ["config", { notation: "lz get get-all get-regexp list local show-origin show-scope name-only null type= bool int default=", check: config }],
  ["version", { notation: "_", check: none }],
]);

function remote({ operands }: Line): void {
  if (!(operands.length === 0 || (operands[0] === "get-url" && operands.length === 2)))
    throw new Refused("of git remote only -v and get-url are known to only read");
}

function reflog({ operands }: Line): void {
  if (/^(expire|delete|exists|drop|write)$/.test(operands[0] ?? "")) throw new Refused(`git reflog ${operands[0]} is not known to only read`);
}

function config(line: Line): void {
  const gets = has(line, "--get", "--get-all", "--get-regexp");
  const lists = has(line, "-l", "--list");
  if (gets === lists || (lists && line.operands.length > 0) || (gets && (line.operands.length < 1 || line.operands.length > 2)))
    throw new Refused("of git config only --get, --get-all, --get-regexp and --list are known to only read");
}

/** Commands of two words. */
const PAIRS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ["stash list", { notation: LOG, adds: PLAIN }],
  ["stash show", { notation: DIFF, adds: PLAIN }],
  ["worktree list", { notation: "vz porcelain verbose", check: none }],
]);

/** Commands that a proposal may use beside reading without a wall. */
const PROPOSALS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ["add", { notation: "Auvn all update verbose dry-run no-all" }],
  ["commit", { notation: "m:aqsv message= all quiet signoff verbose allow-empty no-verify no-edit" }],
]);

/** Judges the words behind `git`. Throws `Refused`. */
export function judgeGit(given: readonly string[], proposing: boolean): GitCommand {
  let at = 0;
  let folder: string | undefined;
  for (; given[at]?.startsWith("-"); at++) {
    const option = given[at] as string;
    if (option === "--version") return { words: ["--version"], named: [] };
    if (option === "-C" && folder === undefined) folder = given[++at] ?? "";
    else if (!/^(--no-pager|-P|--no-optional-locks|--literal-pathspecs)$/.test(option))
      throw new Refused(`git ${option.slice(0, 60)} changes what git runs, or where`);
  }
  const [name = "", second = ""] = given.slice(at);
  const behind = folder === undefined ? {} : { folder };
  if (proposing && ((name === "switch" && second === "-c") || (name === "checkout" && second === "-b"))) return { ...behind, ...made(given.slice(at + 2)) };
  const pair = PAIRS.get(`${name} ${second}`);
  const reader = pair ?? READERS.get(name) ?? (proposing ? PROPOSALS.get(name) : undefined);
  if (reader === undefined) throw new Refused(`git ${name.slice(0, 60)}${refusals[name] ?? " is not known to only read"}`);
  const head = pair === undefined ? [name] : [name, second];
  const rest = given.slice(at + head.length);
  const line = readLine(options(reader.notation), rest);
  reader.check?.(line);
  const adds = reader.adds ?? [];
  return { ...behind, words: ["--no-pager", ...head, ...adds, ...rest], named: line.named };
}

const refusals: Readonly<Record<string, string>> = {
  push: ": pushes are for people; say in your answer what is to be pushed",
  merge: ": merging is for people",
};

function made(rest: readonly string[]): Pick<GitCommand, "words" | "named" | "branch"> {
  const [branch = ""] = rest;
  if (rest.length !== 1 || !/^[A-Za-z0-9][\w./-]{0,200}$/.test(branch) || /\.\.|\/\/|\.lock$|[./]$|\/\./.test(branch))
    throw new Refused("name the new branch, and nothing else");
  return { words: ["--no-pager", "branch", branch], named: [], branch };
}
