import { existsSync } from "node:fs";
import { join } from "node:path";
import { ROOT, read } from "../house/house.ts";

/*
 * The commands of a page are its `sh` blocks. What a reader's machine has and a test's has not is said in comments right before a block:
 *   <!-- not run: why -->            the block is passed over
 *   <!-- first: command -->          runs before the block: what the page takes for granted
 *   <!-- instead: a => b : why -->   in this block and the later ones `b` stands for `a`
 *   <!-- stays: why -->              its last command does not end; the next block goes on beside it
 */

/** What a page's commands come to. */
export interface Page {
  /** One shell script; empty where the page has no commands. */
  readonly script: string;
  /** Why a block is not run, or runs otherwise than it stands there. */
  readonly exceptions: readonly string[];
  /** Other blocks, as `<number>.<language>`: what a reader copies into a file. */
  readonly files: Readonly<Record<string, string>>;
}

const COMMAND = /^(\$ )?([A-Z_]+=\S+ )*(svc|npm|npx|node|docker|curl|apt-get|systemctl|sudo|git) /m;

/** Reads a page. Throws where a block has commands and is not marked as `sh`, and where a comment is not understood or fits nothing. */
export function readPage(path: string): Page {
  const instead: { from: string; to: string }[] = [];
  const exceptions: string[] = [];
  const files: Record<string, string> = {};
  let script = "";
  const blocks = [...read(path).matchAll(/^((?:<!-- .*? -->\n)*)```(\w*)\n(.*?)^```$/gms)];
  for (const [at, [, comments = "", language = "", text = ""]] of blocks.entries()) {
    if (language !== "sh") {
      if (language === "" && COMMAND.test(text)) throw new Error(`${path}: a block with commands is not marked as sh: ${text}`);
      files[`${at + 1}.${language}`] = text;
      continue;
    }
    let block = text;
    let first = "";
    let isRun = true;
    for (const [, kind, words = ""] of comments.matchAll(/^<!-- ([a-z ]+): (.*) -->$/gm)) {
      if (kind === "first") first += `${words}\n`;
      else {
        exceptions.push(`${path}: ${kind}: ${words}`);
        if (kind === "not run") isRun = false;
        else if (kind === "stays") block = block.replace(/\n$/, " &\n");
        else if (kind === "instead") instead.push(replacement(path, block, words));
        else throw new Error(`${path}: <!-- ${kind}: ... --> is not understood`);
        for (const file of words.match(/(test|\.ci)\/\S+?(\.ts|run)\b/g) ?? [])
          if (!existsSync(join(ROOT, file))) throw new Error(`${path}: there is no ${file}`);
      }
    }
    if (!isRun) continue;
    for (const { from, to } of instead) block = block.replaceAll(from, to);
    script += first + block;
  }
  return { script, exceptions, files };
}

function replacement(path: string, block: string, words: string): { from: string; to: string } {
  const [, from = "", to = ""] = /^(.+) => (.+) : .+$/.exec(words) ?? [];
  if (from === "" || !block.includes(from)) throw new Error(`${path}: '${words}' replaces nothing in the block below it`);
  return { from, to };
}
