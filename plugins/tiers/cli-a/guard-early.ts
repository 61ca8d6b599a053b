import { readShell } from "./guard-tree.ts";

/*
 * Commands that can only fail behind the wall. They are refused before they run so that the model gets a reason and the guard log a row. Not part of
 * the boundary: a command that is not recognised here runs, and fails at the wall.
 */

const CHANGES = new Set("rm rmdir mv cp touch mkdir ln chmod chown chgrp truncate tee dd install shred mkfifo patch".split(" "));
const GIT_CHANGES = new Set("add am apply cherry-pick checkout clean commit gc init merge mv prune rebase reset restore revert rm switch".split(" "));
const NETWORK = new Set("curl wget ssh scp sftp rsync gh glab hub nc telnet ftp".split(" "));

/** Why the text cannot succeed; undefined when it may. */
export function hopeless(text: string, writable: boolean): string | undefined {
  let commands: string[][];
  try {
    commands = readShell(text).flatMap((pipeline) => pipeline.commands.map(({ words }) => words.map((word) => word.text)));
  } catch {
    return undefined;
  }
  // `/tmp` is the command's own, and another folder may be reached by `cd`.
  const elsewhere = commands.some((words) => words[0] === "cd" || words.some((word) => word.includes("/tmp") || word.includes("/dev/")));
  for (const [name = "", ...rest] of commands) {
    const verb = rest.find((word) => !word.startsWith("-")) ?? "";
    if (NETWORK.has(name)) return `${name}: there is no network in such a run`;
    if (name === "git" && verb === "push") return "git push: pushes are for people; say in your answer which branch is to be pushed";
    if (name === "git" && /^(fetch|pull|clone|ls-remote)$/.test(verb)) return `git ${verb}: there is no network in such a run`;
    if (name === "sudo" || name === "su") return `${name}: nobody else's rights are lent`;
    if (writable || elsewhere) continue;
    if (CHANGES.has(name)) return `${name}: it changes files`;
    if (name === "git" && GIT_CHANGES.has(verb) && rest[0] === verb) return `git ${verb}: it changes the repository`;
  }
  return undefined;
}
