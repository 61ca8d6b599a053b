/** Branches that others build on, whatever their case. */
const PROTECTED = /^(main|master|trunk|develop|development|dev|production|prod|staging|stable|release|releases|hotfix|gh-pages)(\/.*)?$|^v?\d+(\.\d+)*(\.x)?$/i;

/** What a proposal may need. Names that are not here may be aliases, which run anything. */
const SUBCOMMANDS = new Set(
  "add apply am bisect blame branch cat-file checkout cherry cherry-pick clone commit count-objects describe diff diff-tree fetch for-each-ref format-patch grep help init log ls-files ls-remote ls-tree merge-base mv name-rev notes pull push range-diff rebase reflog remote restore rev-list rev-parse revert rm shortlog show show-ref stash status switch tag version worktree whatchanged config reset".split(
    " ",
  ),
);

/** Why a git command is more than a proposal; undefined when it is not known to be. */
export function refuseGit(operands: readonly string[]): string | undefined {
  let at = 0;
  for (; at < operands.length && operands[at]?.startsWith("-"); at++) {
    const option = operands[at] as string;
    if (option === "-C") at++;
    else if (!/^(--no-pager|--paginate|-p|-P|--version|--help|--literal-pathspecs)$/.test(option))
      return `git ${option}: it changes which programs git runs, or where`;
  }
  const [name = "", ...more] = operands.slice(at);
  if (name === "") return undefined;
  if (name === "merge") return "git merge: merging is for people";
  if (name === "push") return refusePush(more);
  if (!SUBCOMMANDS.has(name)) return `git ${name}: it is not known to be a part of a proposal`;
  const has = (...options: readonly RegExp[]) => more.some((operand) => options.some((option) => option.test(operand)));
  if (name === "config" && !has(/^(--get|--get-all|--list|-l|get|list)$/)) return "git config: settings can run programs";
  if (name === "reset" && has(/^--(hard|merge|keep)/)) return "git reset: it deletes work";
  if ((name === "branch" || name === "tag") && has(/^-[a-zA-Z]*[dDfMC]/, /^--(delete|force|d|de|del|fo)/))
    return `git ${name}: it deletes or moves a name by force`;
  if (name === "stash" && /^(drop|clear)$/.test(more[0] ?? "")) return "git stash: it deletes work";
  if (name === "remote" && !/^(-v|--verbose|show|get-url)?$/.test(more[0] ?? "")) return "git remote: it changes where pushes go";
  if (name === "worktree" && /^(remove|prune|move)$/.test(more[0] ?? "")) return "git worktree: it deletes";
  if (name === "reflog" && /^(expire|delete)$/.test(more[0] ?? "")) return "git reflog: it deletes";
  if (name === "bisect" && more[0] === "run") return "git bisect run: it runs programs";
  if (name === "rebase" && has(/^(-x|--exec)/)) return "git rebase --exec: it runs programs";
  if (has(/^--(upload-pack|receive-pack|ext-diff|open-files-in-pager)/, /^ext::/)) return `git ${name}: it runs programs`;
  return undefined;
}

/** Only a named branch that is nobody else's, and without force. */
function refusePush(operands: readonly string[]): string | undefined {
  const option = operands.find(
    (operand) => operand.startsWith("-") && !/^(-u|--set-upstream|-v|--verbose|-q|--quiet|--porcelain|--progress|--no-verify|--dry-run|-n)$/.test(operand),
  );
  if (option !== undefined) return `git push ${option}: it forces, deletes or pushes more than one branch`;
  const [remote, ...refs] = operands.filter((operand) => !operand.startsWith("-"));
  if (remote === undefined || refs.length === 0) return "git push: name the remote and the feature branch";
  for (const ref of refs) {
    const [source, target = source] = ref.split(":") as [string, string?];
    const branch = target?.replace(/^refs\/heads\//, "") ?? "";
    if (source === "" || ref.startsWith("+")) return `git push ${ref}: it deletes or forces`;
    if (branch === "" || branch === "HEAD" || branch === "@" || /[*$^~?[]/.test(branch) || branch.startsWith("refs/"))
      return `git push ${ref}: name the feature branch`;
    if (PROTECTED.test(branch)) return `git push ${ref}: ${branch} is a protected branch`;
  }
  return undefined;
}
