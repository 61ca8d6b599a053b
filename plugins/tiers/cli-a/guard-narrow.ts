import { accessSync, constants, lstatSync, readdirSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { shellQuoted } from "@svc/sdk/engine";
import { judgeGit } from "./guard-git.ts";
import { Refused } from "./guard-options.ts";
import { follow, refuseWrite } from "./guard-path.ts";
import { PROPOSING, RULES } from "./guard-tables.ts";
import { type Command, type Judged, type Pipeline, printShell, readShell, Unreadable, type Word } from "./guard-tree.ts";

/*
 * The guard of shell commands where there is no wall: a text is read into a tree (guard-tree.ts), each command is judged by the tables
 * (guard-tables.ts, guard-git.ts), and the tree is printed anew, with names of files in the place of globs and programs by their
 * full paths. Whatever is not known to only read is refused.
 */

/** Inputs of the analysis. All paths are absolute and real. */
export interface Deps {
  readonly workspace: string;
  /** Folders beside it that may be read. */
  readonly folders: readonly string[];
  /** Where programs are found. */
  readonly searchPath: string;
  /** Files may be made and moved, and commits be made. */
  readonly proposing: boolean;
}

/** Facts about a run for the analysis of commands. */
export interface Narrow {
  /** For bash, started without any of its files. */
  readonly text: string;
  /** git is among the commands: it needs the shadow repository. */
  readonly git: boolean;
  /** The command scans the work tree for changes. */
  readonly commits: boolean;
}

/** The variable that tells a printed text where the workspace's own repository is. */
export const REAL_REPOSITORY = "SVC_GIT_DIR";
const MOST_NAMES = 2000;
/** Of the whole machine what anybody reads. */
const SYSTEM = /^\/(usr|opt\/homebrew|etc\/(os-release|debian_version|passwd|group|hosts|services|protocols))(\/|$)/;

/** Judges a text. Throws `Refused` or `Unreadable` with the reason. */
export function judgeShell(text: string, deps: Deps): Narrow {
  const pipelines = readShell(text);
  if (pipelines.length === 0) throw new Unreadable("there is no command");
  const judge = new Judge(deps);
  const judged: { commands: Judged[]; joint: Pipeline["joint"] }[] = [{ commands: [{ words: ["cd", deps.workspace], redirects: [] }], joint: ";" }];
  let certain = true;
  for (const { commands, joint } of pipelines) {
    // Behind `&&` and `||` it depends on the commands before whether a `cd` is reached.
    if (joint === ";") certain = true;
    else if (joint === "||") certain = false;
    const moves = commands.length === 1 && commands[0]?.words[0]?.text === "cd";
    if (moves && !certain) throw new Refused("cd stands behind && or ||: begin with it");
    const done: Judged[] = [];
    for (const command of commands) done.push(judge.command(command, moves));
    judged.push({ commands: done, joint });
    if (!moves) certain = false;
  }
  return { text: printShell(judged), git: judge.git, commits: judge.commits };
}

class Judge {
  git = false;
  commits = false;
  readonly #deps: Deps;
  #folder: string;
  /** Copying and moving may put a link somewhere: no path is judged after it. */
  #moved = false;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#folder = deps.workspace;
  }

  command({ words, redirects }: Command, mayMove: boolean): Judged {
    const [name = "", ...rest] = words.flatMap((word) => this.#expand(word));
    const around = redirects.map((redirect) => (redirect.kind === "read" ? { kind: "read" as const, file: this.#input(redirect.file) } : redirect));
    if (name === "cd") {
      if (!mayMove) throw new Refused("cd in a pipeline is not read");
      return { words: ["cd", this.#move(rest)], redirects: around };
    }
    // `./ls` is no program of the system.
    const own = /^(?:\/usr\/bin\/|\/bin\/)?([\w.[-]+)$/.exec(name)?.[1] ?? name;
    const program = name === own ? this.#program(name) : name;
    if (own === "git") return this.#git(program, rest, around);
    const rule = RULES.get(own);
    const change = rule === undefined && this.#deps.proposing ? PROPOSING.get(own) : undefined;
    if (rule !== undefined) for (const file of rule(rest)) this.#requireReadable(file);
    else if (change !== undefined) this.#change(own, change(rest));
    else throw new Refused(/^[A-Za-z_]\w*\+?=/.test(name) ? "variables are not read" : `'${name.slice(0, 60)}' is not known to only read`);
    return { words: [program, ...rest], redirects: around };
  }

  #git(program: string, rest: readonly string[], redirects: Judged["redirects"]): Judged {
    const { folder, words, named, branch } = judgeGit(rest, this.#deps.proposing);
    this.git = true;
    if (words.includes("add") || words.includes("commit")) this.commits = true;
    const before = this.#folder;
    const there = folder === undefined ? [] : ["-C", this.#move([folder])];
    for (const file of named) this.#requireReadable(file);
    this.#folder = before;
    const judged = { words: [program, ...there, ...words], redirects };
    if (branch === undefined) return judged;
    // The shadow's `HEAD` moves for the commands that follow, and the real one for everybody.
    const head = shellQuoted([program, "symbolic-ref", "HEAD", `refs/heads/${branch}`]);
    return { ...judged, then: `${head} && /usr/bin/env -u GIT_INDEX_FILE GIT_DIR="$${REAL_REPOSITORY}" ${head}` };
  }

  #change(name: string, { reads, writes }: { readonly reads: readonly string[]; readonly writes: readonly string[] }): void {
    if (this.#moved) throw new Refused("one cp or mv in a command, behind what makes files");
    for (const file of reads) this.#requireReadable(file);
    for (const file of writes) {
      const reason = refuseWrite(file, this.#deps.workspace, this.#folder);
      if (reason !== undefined) throw new Refused(reason);
    }
    if (name !== "cp" && name !== "mv") return;
    this.#moved = true;
    const [, ...places] = writes;
    const folders = reads.some((file) => statSync(follow(file, this.#folder), { throwIfNoEntry: false })?.isDirectory());
    const there = places.some((file) => lstatSync(follow(file, this.#folder), { throwIfNoEntry: false })?.isDirectory());
    if (folders && there && name === "cp") throw new Refused("a folder is not copied into one that is there: links in it would be followed");
  }

  /** The folder of what follows. */
  #move([target, ...more]: readonly string[]): string {
    if (target === undefined || target === "" || target.startsWith("-") || more.length > 0) throw new Refused("cd takes one folder");
    this.#requireReadable(target);
    const path = follow(target, this.#folder);
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw new Refused(`${target.slice(0, 60)} is no folder`);
    this.#folder = path;
    return this.#folder;
  }

  #input(file: Word): string {
    const [name = "", ...more] = this.#expand(file);
    if (more.length > 0) throw new Refused("'<' takes one file");
    this.#requireReadable(name);
    if (!statSync(follow(name, this.#folder), { throwIfNoEntry: false })?.isFile()) throw new Refused(`${name.slice(0, 60)} is no file`);
    return name;
  }

  /** Names of files in the place of a glob, as the shell would; a name never becomes an option. */
  #expand({ text, glob }: Word): string[] {
    if (glob === undefined) return [text];
    const slash = text.lastIndexOf("/");
    const folder = text.slice(0, slash + 1);
    const path = follow(folder || ".", this.#folder);
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return [text];
    this.#requireReadable(folder || ".");
    const names = readdirSync(path).filter((name) => glob.test(name));
    if (names.length > MOST_NAMES) throw new Refused(`${text.slice(0, 60)} stands for more than ${MOST_NAMES} files`);
    if (names.some((name) => /[\u0000-\u001f\u007f\ufffd]/.test(name))) throw new Refused(`${text.slice(0, 60)} stands for names with control characters`);
    return names.length === 0 ? [text] : names.sort().map((name) => (folder === "" && name.startsWith("-") ? `./${name}` : folder + name));
  }

  /** Whatever a word may mean: as a path it must not lead to what a run has no business with. */
  #requireReadable(text: string): void {
    if (text === "" || text.includes("\0")) return;
    let real: string;
    try {
      real = follow(text, this.#folder);
    } catch {
      // A link to nowhere, which cannot be read.
      return;
    }
    if (real === "/dev/null") return;
    if (/^\/(proc|sys|dev)(\/|$)/.test(real)) throw new Refused(`${text.slice(0, 60)} is no file of the workspace`);
    // There is no such file: it is a word.
    if (lstatSync(real, { throwIfNoEntry: false }) === undefined) return;
    const { workspace, folders } = this.#deps;
    if (SYSTEM.test(real) || [workspace, ...folders].some((root) => real === root || real.startsWith(`${root}/`))) {
      if (/(^|\/)(\.svc|svc\.json)(\/|$)/.test(real)) throw new Refused(`${text.slice(0, 60)} is the daemon's own`);
      return;
    }
    throw new Refused(`${text.slice(0, 60)} is outside the workspace; tiers.cli-a.guard.folders names further folders that may be read`);
  }

  /** The full path, so that neither the workspace nor the shell's own functions stand before it. */
  #program(name: string): string {
    const found = this.#deps.searchPath
      .split(delimiter)
      .filter((folder) => isAbsolute(folder) && !`${folder}/`.startsWith(`${this.#deps.workspace}/`))
      .map((folder) => join(folder, name))
      .find(isProgram);
    return found ?? `/usr/bin/${name}`;
  }
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
