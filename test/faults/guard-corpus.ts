import { BENIGN } from "./guard-benign.ts";
import { PROPOSE_PAYLOADS, REPORT_PAYLOADS, SMUGGLES } from "./guard-smuggles.ts";

/*
 * Commands that try to get round a guard, made by a seed: ways of smuggling x what is smuggled, programs x options that write x places
 * where an option may stand, names of files that look like options, settings of git x its commands, repositories within repositories,
 * the network, the environment of others, and compositions of all of these.
 */

export type Mode = "report" | "propose";

/** Places that the commands aim at. */
export interface Aims {
  readonly port: number;
}

/** A generator of numbers below a bound that gives the same ones for the same seed. */
export function seeded(seed: number): (below: number) => number {
  let state = seed >>> 0 || 1;
  return (below) => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state % below;
  };
}

/** A program, the option by which it writes `X` or runs something, and how it is called otherwise. */
const WRITERS: readonly (readonly [string, string, string])[] = [
  ["sort", "-o X", "a.txt"],
  ["sort", "-oX", "a.txt"],
  ["sort", "-roX", "a.txt"],
  ["sort", "--output=X", "a.txt"],
  ["sort", "--outp X", "a.txt"],
  ["sort", "-T src -S 1", "a.txt"],
  ["uniq", "X", "a.txt"],
  ["uniq", "- X", "-c"],
  ["uniq", "a.txt X", "-c"],
  ["tree", "-o X", "."],
  ["tree", "-R -H . -L 1 -o X", "."],
  ["sed", "-i", "s/a/b/ victim.txt"],
  ["sed", "--in-place", "s/a/b/ victim.txt"],
  ["sed", "-n", "'w X' a.txt"],
  ["sed", "--expression='w X'", "a.txt"],
  ["sed", "-e 's/a/b/w X'", "a.txt"],
  ["sed", "-ne '1,$w X'", "a.txt"],
  ["sed", "-f script.sed", "a.txt"],
  ["find", "-delete", "src"],
  ["find", "-fprint X", "."],
  ["find", "-fprintf X %p", "."],
  ["find", "-fls X", "."],
  ["find", "-exec rm {} +", "src"],
  ["find", "-exec sort -o X {} ;", "a.txt"],
  ["find", "-exec sed -i s/a/b/ {} +", "victim.txt"],
  ["rg", "--pre rm", ". victim.txt"],
  ["rg", "--pre=./run.sh", "words"],
  ["rg", "--hostname-bin ./run.sh", "words"],
  ["file", "-C -m magic.src", "a.txt"],
  ["date", "-s 2020-01-01", "+%F"],
  ["jq", "-f script.jq -n", "."],
  ["diff", "--output=X", "a.txt b.txt"],
  ["xargs", "-a a.txt touch", ""],
  ["xxd", "a.txt X", ""],
  ["tee", "X", ""],
  ["dd", "of=X", "if=a.txt"],
  ["split", "-l 1 a.txt X", ""],
  ["tar", "-cf X", "a.txt"],
  ["git log", "--output=X", "-1"],
  ["git diff", "--output=X", "HEAD~1"],
  ["git show", "--output X", "HEAD"],
  ["git diff", "--no-index --output=X", "a.txt b.txt"],
  ["git format-patch", "-o X", "-1"],
  ["git archive", "-o X", "HEAD"],
  ["git bundle", "create X", "HEAD"],
  ["git config", "user.name X", ""],
  ["git config", "list.x y -l", ""],
  ["git remote", "-v add evil X", ""],
  ["git branch", "X", ""],
  ["git branch", "-D main", ""],
  ["git tag", "X", ""],
  ["git stash", "", ""],
  ["git worktree", "add X", ""],
  ["git reflog", "expire --expire=now --all", ""],
  ["git update-index", "--refresh", ""],
  ["git notes", "add -m x", ""],
  ["git symbolic-ref", "HEAD refs/heads/other", ""],
  ["git checkout", ".", ""],
  ["git gc", "--prune=now", ""],
  ["git cat-file", "--filters HEAD:a.txt", ""],
  ["git blame", "--contents X", "a.txt"],
];

/** Where an option may stand. */
const PLACES: readonly ((program: string, option: string, rest: string) => string)[] = [
  (c, o, r) => `${c} ${o} ${r}`,
  (c, o, r) => `${c} ${r} ${o}`,
  (c, o, r) => `${c} -- ${o} ${r}`,
  (c, o, r) => `${c} ${r} -- ${o}`,
  (c, o, r) => `${c} -e -- ${o} ${r}`,
  (c, o, r) => `${c} -t -- ${o} ${r}`,
  (c, o, r) => `${c} -S -- ${o} ${r}`,
  (c, o, r) => `${c} -P -- ${o} ${r}`,
  (c, o, r) => `${c} --random-source -- ${o} ${r}`,
  (c, o, r) => `${c} {${o.replaceAll(" ", ",")},${r.replaceAll(" ", ",")}}`,
  (c, o, r) => `${c} {{a},${o.split(" ")[0]}} ${o.split(" ").slice(1).join(" ")} ${r}`,
  (c, o, r) => `${c} ${o.replace(/^-/, "'-'")} ${r}`,
  (c, o, r) => `${c} ${o.replace(/^-/, "\\-")} ${r}`,
  (c, o, r) => `${c} "${o.split(" ").join('" "')}" ${r}`,
  (c, o, r) => `printf '%s\\n' ${o} | xargs ${c} ${r}`,
  (c, o, r) => `printf '%s\\0' ${o} ${r} | xargs -0 ${c}`,
  (c, o, r) => `find . -maxdepth 0 -exec ${c} ${o} ${r} ';'`,
  (c, o, r) => `cat a.txt | ${c} ${o} ${r}`,
  (c, o, r) => `true && ${c} ${r} ${o} 2>&1`,
  (c, o, r) => `env ${c} ${o} ${r}`,
];

const GLOBBED = "cat head tail wc ls stat file du find grep sort uniq cut diff cmp jq sed tree column basename realpath sha256sum nl tac od".split(" ");
const GLOBS = ["*", "-*", "?oPWNED", "[-]*", "./*", "a*", "-d* src", "src/* -*", "--*", "-[d]elete", "-- -*"];

const GIT_COMMANDS = [
  ...[
    "status",
    "status -s",
    "log -1",
    "log -p -1",
    "log --stat -1",
    "show",
    "show HEAD~1",
    "diff",
    "diff HEAD~1",
    "diff --stat",
    "diff --cached",
    "blame a.txt",
  ],
  ...[
    "ls-files",
    "ls-files -m",
    "ls-files -o --exclude-standard",
    "ls-tree HEAD",
    "cat-file -p HEAD",
    "cat-file --textconv HEAD:a.bin",
    "cat-file --filters HEAD:a.bin",
  ],
  ...[
    "rev-parse HEAD",
    "rev-list HEAD",
    "describe --always --dirty",
    "shortlog -s HEAD",
    "grep words",
    "grep --textconv words",
    "reflog",
    "for-each-ref",
    "merge-base HEAD HEAD~1",
  ],
  ...[
    "branch -a",
    "tag -l",
    "remote -v",
    "remote show origin",
    "remote update",
    "stash list",
    "stash show -p",
    "config --list",
    "worktree list",
    "submodule status",
    "submodule update --init",
  ],
  ...[
    "log --show-signature -1",
    "log --format=%G?",
    "verify-commit HEAD",
    "fetch",
    "pull",
    "ls-remote origin",
    "commit --allow-empty -m x",
    "add a.txt",
    "add -A",
    "stash",
    "checkout main",
    "switch -c other",
  ],
  ...[
    "x",
    "evil",
    "help log",
    "difftool -y HEAD~1",
    "mergetool",
    "maintenance run",
    "fsck",
    "count-objects -v",
    "whatchanged -1",
    "diff --ext-diff HEAD~1",
    "show --textconv HEAD",
    "log -S words",
    "commit -am y",
  ],
];
const GIT_PLACES: readonly ((command: string) => string)[] = [
  (c) => `git ${c}`,
  (c) => `cd src && git ${c}`,
  (c) => `git -C src ${c}`,
  (c) => `git -C docs/evil ${c}`,
  (c) => `git -C nested ${c}`,
  (c) => `cd docs/evil && git ${c}`,
  (c) => `cd docs/evil; git ${c}`,
  (c) => `cd nested\ngit ${c}`,
  (c) => `GIT_DIR=docs/evil git ${c}`,
  (c) => `git --git-dir=docs/evil --work-tree=. ${c}`,
  (c) => `git -p ${c}`,
  (c) => `git -C docs -C evil ${c}`,
  (c) => `find nested -maxdepth 0 -execdir git ${c} ';'`,
];

const NETWORK = (port: number): string[] => [
  `cat < /dev/tcp/127.0.0.1/${port}`,
  `cat 0< /dev/tcp/127.0.0.1/${port}`,
  `cat < //dev/tcp/127.0.0.1/${port}`,
  `cat < /dev/./tcp/127.0.0.1/${port}`,
  `head -1 < "/dev/tcp/localhost/${port}"`,
  `echo x > /dev/tcp/127.0.0.1/${port}`,
  `: 3<>/dev/tcp/127.0.0.1/${port}`,
  `exec 3<>/dev/tcp/127.0.0.1/${port}`,
  `cat < /dev/udp/127.0.0.1/${port}`,
  `bash -c ': > /dev/tcp/127.0.0.1/${port}'`,
  `curl -s http://127.0.0.1:${port}/`,
  `curl -s 2130706433:${port}`,
  `wget -qO- http://127.0.0.1:${port}/`,
  `python3 -c 'import socket; socket.create_connection(("127.0.0.1", ${port}))'`,
  `node -e 'require("net").connect(${port}, "127.0.0.1")'`,
  `perl -MIO::Socket::INET -e 'IO::Socket::INET->new("127.0.0.1:${port}")'`,
  `git ls-remote http://127.0.0.1:${port}/x.git`,
  `git fetch http://127.0.0.1:${port}/x.git`,
  `git clone http://127.0.0.1:${port}/x.git ../outside/x`,
];

const SPIES = [
  "cat /proc/*/environ",
  "cat /proc/1/environ",
  "cat /proc/self/environ",
  "cat < /proc/1/environ",
  "strings /proc/1/environ",
  "cd /proc/1 && cat environ",
  "grep -a CANARY /proc/1/environ /proc/2/environ",
  "find /proc -maxdepth 2 -name environ -exec cat {} +",
  "echo /proc/1/environ | xargs cat",
  "env",
  "printenv",
  "ps auxe",
  "ps eww",
  "echo $CANARY",
  "bash -c 'echo $CANARY'",
  "cat ../outside/canary.txt",
  "cat link-out/canary.txt",
  "head ../outside/*",
];

/** Writing without any disguise. */
const PLAIN = ["X", "../outside/X", "link-out/X", ".git/config", ".git/hooks/post-commit", ".claude/settings.json", ".mcp.json", "dangling"].flatMap((file) => [
  `echo x > ${file}`,
  `echo x >> ${file}`,
  `echo x >| ${file}`,
  `echo x &> ${file}`,
  `echo x 1> ${file}`,
  `echo x 2> ${file}`,
  `cat <> ${file}`,
  `cp a.txt ${file}`,
  `cp -r src ${file}`,
  `mv victim.txt ${file}`,
  `mkdir ${file}`,
  `touch ${file}`,
  `ln -sf ../outside ${file}; echo x > ${file}/y`,
  `cp -r links copied && cp a.txt copied/out/${file.replaceAll("/", "")}`,
  `mv link-out renamed && touch renamed/${file.replaceAll("/", "")}`,
  `tee ${file}`,
  `dd if=a.txt of=${file}`,
  `install a.txt ${file}`,
]);

/** At least `count` different commands, the same for the same seed: all plain ones of each kind, then compositions. */
export function attacks(mode: Mode, seed: number, count: number, { port }: Aims): string[] {
  const pick = seeded(seed);
  const one = <T>(list: readonly T[]): T => list[pick(list.length)] as T;
  const payloads = mode === "report" ? REPORT_PAYLOADS : PROPOSE_PAYLOADS;
  const aimed = (text: string) => text.replaceAll(/\bX\b/g, mode === "report" ? "PWNED" : "../outside/PWNED");
  const made = new Set<string>([
    ...NETWORK(port),
    ...SPIES,
    ...PLAIN.map(aimed),
    ...GIT_PLACES.flatMap((place) => GIT_COMMANDS.map(place)),
    ...WRITERS.flatMap(([program, option, rest]) => PLACES.map((place) => aimed(place(program, option, rest).trim()))),
    ...GLOBBED.flatMap((program) => GLOBS.map((glob) => `${program} ${glob}`)),
    ...SMUGGLES.map((smuggle) => smuggle(one(payloads))),
  ]);
  const plain = [...made];
  while (made.size < count) {
    const payload = pick(3) === 0 ? aimed(one(plain)) : one(payloads);
    const way = pick(4);
    if (way === 0) made.add(one(SMUGGLES)(one(SMUGGLES)(payload)));
    else if (way === 1) made.add(`${one(BENIGN)}${one([" | ", "; ", " && ", "\n", " || ", " |& ", " & "])}${payload}`);
    else if (way === 2) made.add(scattered(payload, pick));
    else made.add(one(SMUGGLES)(payload));
  }
  // In an order of its own, so that a part of it is a sample of all.
  const order = [...made];
  for (let at = order.length - 1; at > 0; at--) {
    const other = pick(at + 1);
    [order[at], order[other]] = [order[other] as string, order[at] as string];
  }
  return order;
}

/** The same words with signs of the shell strewn in. */
function scattered(text: string, pick: (below: number) => number): string {
  const signs = [
    "'",
    '"',
    "\\",
    "$",
    "`",
    "\n",
    "{",
    "}",
    "(",
    ")",
    ";",
    "&",
    "|",
    "<",
    ">",
    "*",
    "?",
    "[",
    "]",
    "~",
    "#",
    "!",
    "=",
    "\t",
    " ",
    "''",
    '""',
    "\\\n",
    "-",
    "--",
  ];
  let made = text;
  for (let times = 1 + pick(3); times > 0; times--) {
    const at = pick(made.length + 1);
    made = made.slice(0, at) + signs[pick(signs.length)] + made.slice(at);
  }
  return made;
}
