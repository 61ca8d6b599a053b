import { isAbsolute, resolve } from "node:path";
import { refuseAddress } from "./guard-address.ts";
import { refuseGit } from "./guard-git.ts";
import { refuseWrite } from "./guard-path.ts";
import { type Command, parseShell } from "./guard-shell.ts";

const HOSTS =
  "ssh scp sftp rsync telnet systemctl service reboot shutdown poweroff halt init telinit mount umount mkfs dd fdisk parted iptables nft ufw useradd userdel usermod groupadd passwd chpasswd chown chroot nsenter unshare insmod modprobe sysctl crontab at batch apt apt-get dpkg yum dnf pacman apk snap brew kill killall pkill sudo su doas pkexec runuser svc";
const DEPLOYS =
  "helm terraform tofu pulumi ansible ansible-playbook serverless vercel netlify fly flyctl heroku aws gcloud az doctl cap fab docker podman docker-compose kubectl twine";
const DELETES = "rm rmdir unlink shred srm trash";
const REFUSED: ReadonlyMap<string, string> = new Map([
  ...HOSTS.split(" ").map((name) => [name, "it operates hosts or this machine"] as const),
  ...DEPLOYS.split(" ").map((name) => [name, "it deploys"] as const),
  ...DELETES.split(" ").map((name) => [name, "it deletes"] as const),
]);

/** Programs that run the rest of their line: how many operands of theirs come first, and which options take a value. */
const WRAPPERS: Readonly<Record<string, { readonly operands: number; readonly valued: string }>> = {
  nohup: { operands: 0, valued: "" },
  time: { operands: 0, valued: "fo" },
  nice: { operands: 0, valued: "n" },
  ionice: { operands: 0, valued: "cn" },
  setsid: { operands: 0, valued: "" },
  stdbuf: { operands: 0, valued: "ioe" },
  command: { operands: 0, valued: "" },
  builtin: { operands: 0, valued: "" },
  exec: { operands: 0, valued: "a" },
  timeout: { operands: 1, valued: "ks" },
  xargs: { operands: 0, valued: "aEdILnPs" },
  env: { operands: 0, valued: "uC" },
};
const SHELLS = new Set(["sh", "bash", "dash", "zsh", "ksh", "fish"]);
/** Where a command writes: its last operand, or all of them. */
const WRITERS: Readonly<Record<string, "last" | "all">> = {
  cp: "last",
  mv: "all",
  install: "last",
  ln: "last",
  tee: "all",
  touch: "all",
  mkdir: "all",
  chmod: "all",
  truncate: "all",
};
/** Variables by which another program than the named one runs. */
const TURNING = /^(PATH|IFS|ENV|PAGER|EDITOR|VISUAL|NODE_OPTIONS|PROMPT_COMMAND|BASH_\w+|LD_\w+|DYLD_\w+|GIT_\w+|PYTHON\w+|PERL\w+|RUBY\w+)\+?=/;
const DEEPEST = 8;

/**
 * Why a shell text is more than a proposal; undefined when nothing in it is known to be. A deny list: an interpreter or a script
 * can get round it (001:L164), a plain command, a wrapper, a nested shell or a link cannot.
 */
export async function refuseToPropose(text: string, workspace: string, depth = 0): Promise<string | undefined> {
  const script = depth > DEEPEST ? undefined : parseShell(text);
  if (script === undefined) return "the command cannot be read for certain";
  let folder: string | undefined = workspace;
  for (const command of script.commands) {
    const reason = await refuseCommand(command, workspace, folder, depth);
    if (reason !== undefined) return reason;
    if (/^(cd|pushd|popd)$/.test(command.words[0]?.text ?? "")) folder = moved(folder, command);
  }
  return undefined;
}

/** Where `cd` leads; undefined when that is not known. */
function moved(folder: string | undefined, { words }: Command): string | undefined {
  const [name, target] = words;
  if (name?.text !== "cd" || target === undefined || !target.literal || target.text.startsWith("-")) return undefined;
  return isAbsolute(target.text) ? target.text : folder === undefined ? undefined : resolve(folder, target.text);
}

async function refuseCommand(
  { assignments, words, writes }: Command,
  workspace: string,
  folder: string | undefined,
  depth: number,
): Promise<string | undefined> {
  for (const { text, literal } of writes) {
    if (!literal) return "it writes to a file that is not named";
    const reason = await refuseTarget(text, workspace, folder);
    if (reason !== undefined) return reason;
  }
  const turning = [...assignments, ...words].find(({ text }) => TURNING.test(text));
  if (turning !== undefined) return `${turning.text.split("=")[0]} decides which programs run`;
  if (words.length === 0) return undefined;
  if (words[0]?.literal === false) return "the command itself is not named";
  return refuseWords(
    words.map(({ text }) => text),
    workspace,
    folder,
    depth,
  );
}

async function refuseTarget(path: string, workspace: string, folder: string | undefined): Promise<string | undefined> {
  if (folder === undefined && !isAbsolute(path)) return `it is not known where ${path} is`;
  return refuseWrite(path, workspace, folder);
}

async function refuseWords(words: readonly string[], workspace: string, folder: string | undefined, depth: number): Promise<string | undefined> {
  const name = (words[0] ?? "").split("/").at(-1) as string;
  const operands = words.slice(1);
  if (depth > DEEPEST) return "it is nested too deep";
  const nested = await refuseNested(name, operands, workspace, folder, depth);
  if (nested !== undefined) return nested;
  if (REFUSED.has(name) && !harmless(name, operands)) return `${name}: ${REFUSED.get(name)}`;
  if (/^mkfs\./.test(name)) return `${name}: it operates this machine`;
  if (name === "git") return refuseGit(operands);
  if (name === "gh" || name === "glab") return refuseForge(operands);
  if (/^(npm|pnpm|yarn|bun|cargo|gem|poetry|make|just|task|rake)$/.test(name)) return refuseScript(name, operands);
  if (name === "curl" || name === "wget") return refuseTransfer(operands);
  const writes = name === "sed" && operands.some((operand) => /^(-[a-zA-Z]*i|--in-place)/.test(operand)) ? "all" : WRITERS[name];
  if (writes === undefined) return undefined;
  const files = operands.filter((operand) => !operand.startsWith("-"));
  for (const file of name === "sed" ? files.slice(1) : writes === "last" ? files.slice(-1) : files) {
    const reason = await refuseTarget(file, workspace, folder);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

/** A command that runs another one is judged by that other one. */
async function refuseNested(
  name: string,
  operands: readonly string[],
  workspace: string,
  folder: string | undefined,
  depth: number,
): Promise<string | undefined> {
  if (name === "eval") return refuseToPropose(operands.join(" "), workspace, depth + 1);
  if (SHELLS.has(name)) {
    const at = operands.findIndex((operand) => /^-[a-z]*c[a-z]*$/.test(operand));
    return at === -1 ? undefined : refuseToPropose(operands[at + 1] ?? "", workspace, depth + 1);
  }
  if (name === "find") {
    if (operands.includes("-delete")) return "find -delete: it deletes";
    for (const [at, operand] of operands.entries()) {
      if (!/^-(exec|execdir|ok|okdir)$/.test(operand)) continue;
      const end = operands.findIndex((word, n) => n > at && (word === ";" || word === "+"));
      const reason = await refuseWords(operands.slice(at + 1, end === -1 ? undefined : end), workspace, folder, depth + 1);
      if (reason !== undefined) return reason;
    }
    return undefined;
  }
  if (name === "env") {
    const at = operands.findIndex((operand) => /^(-[a-zA-Z]*S|--split-string)/.test(operand));
    if (at !== -1)
      return refuseToPropose(
        [(operands[at] as string).replace(/^(-[a-zA-Z]*S|--split-string=?)/, ""), ...operands.slice(at + 1)].join(" "),
        workspace,
        depth + 1,
      );
  }
  const wrapper = WRAPPERS[name];
  if (wrapper === undefined) return undefined;
  const rest = unwrap(operands, wrapper);
  return rest.length === 0 ? undefined : refuseWords(rest, workspace, folder, depth + 1);
}

function unwrap(operands: readonly string[], { operands: own, valued }: { readonly operands: number; readonly valued: string }): readonly string[] {
  let at = 0;
  for (; at < operands.length; at++) {
    const operand = operands[at] as string;
    if (operand === "--") {
      at++;
      break;
    }
    if (/^[A-Za-z_]\w*=/.test(operand)) continue;
    if (!operand.startsWith("-")) break;
    if (/^-[a-zA-Z]$/.test(operand) && valued.includes(operand[1] as string)) at++;
  }
  return operands.slice(at + own);
}

/** Of these programs some subcommands only look. */
function harmless(name: string, [verb = ""]: readonly string[]): boolean {
  if (name === "kubectl") return /^(get|describe|logs|version)$/.test(verb);
  if (name === "docker" || name === "podman") return /^(ps|images|logs|inspect|version|info)$/.test(verb);
  return name === "terraform" || name === "tofu" ? /^(fmt|validate|version)$/.test(verb) : false;
}

function refuseForge(operands: readonly string[]): string | undefined {
  const [topic = "", verb = ""] = operands.filter((operand) => !operand.startsWith("-"));
  if (topic === "api" && operands.some((operand) => /^(-X|--method|-f|-F|--field|--raw-field|--input)/.test(operand)))
    return "api: only plain reads are judged";
  const topics = /^(secret|variable|ssh-key|gpg-key|auth|alias|extension|config|release|workflow|deploy-key|codespace)$/;
  if (topics.test(topic) && !/^(view|list|status)$/.test(verb)) return `${topic} ${verb}: it is more than a proposal`;
  return /^(merge|delete|approve|close|archive|transfer|rename|edit-visibility|accept|rebase|revoke|cancel|rerun|retry|trigger|run)$/.test(verb)
    ? `${topic} ${verb}: it is more than a proposal`
    : undefined;
}

function refuseScript(name: string, operands: readonly string[]): string | undefined {
  const word = operands.find((operand) => /(^|[:_-])(publish|unpublish|deploy|release|yank|push|dist-tag|deprecate)([:_-]|$)/i.test(operand));
  return word === undefined ? undefined : `${name} ${word}: it deploys or publishes`;
}

function refuseTransfer(operands: readonly string[]): string | undefined {
  if (
    operands.some(
      (operand, at) =>
        /^(-X|--request)=?(DELETE|PUT|PATCH)$/i.test(operand) ||
        (/^(-X|--request|--method)$/.test(operand) && /^(DELETE|PUT|PATCH)$/i.test(operands[at + 1] ?? "")),
    )
  )
    return "it changes or deletes something elsewhere";
  for (const operand of operands) {
    if (operand.startsWith("-")) continue;
    const address = /^[a-z]+:\/\//i.test(operand) ? operand : `http://${operand}`;
    const reason =
      /^(https?:\/\/)?[\w.[\]:-]+(\/|:\d|$)/i.test(operand) && /^(https?:\/\/|localhost|127\.|\[|0\.|10\.|192\.168\.)/i.test(operand)
        ? refuseAddress(address)
        : undefined;
    if (reason !== undefined) return reason;
  }
  return undefined;
}
