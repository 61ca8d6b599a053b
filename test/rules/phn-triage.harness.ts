import { createHmac } from "node:crypto";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { definePlugin, type Plugin, type Tier } from "@svc/sdk";
import triage from "../../plugins/features/phone-triage/index.ts";
import type { Verdict } from "../../plugins/features/phone-triage/verdict.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { type Asking, type AskingOptions, runAsking } from "./approvals.harness.ts";

export const SECRET = "the-secret-of-the-sync-tool";

/** A sync tool that writes down how it was started. Its behaviour is a file beside it: `fail`, `hang` or nothing. */
export interface StandInTool {
  readonly bin: string;
  /** Arguments of each start, oldest first. */
  calls(): readonly (readonly string[])[];
  /** Messages that it sent, oldest first. */
  sent(): readonly { readonly to: string; readonly text: string }[];
  behave(how: "send" | "fail" | "hang"): void;
}

/** A shell starts in a tenth of the time of Node. Each start is one write: tools run beside one another. */
const TOOL = `#!/bin/sh
cd "\${0%/*}"
printf '%s\\0' "$@" END >> calls
how=send
[ -e how ] && read -r how < how
for each do case "$each" in
  --to=*) to="\${each#*=}" ;;
  --output=*) output="\${each#*=}" ;;
esac; done
case "$1 $how" in
  version*) echo "wacli 0.9.0" ;;
  media*) printf %s "the bytes of the picture" > "$output" ;;
  *hang) exec /bin/sleep 600 ;;
  *fail) echo "not authenticated; run wacli auth" >&2; exit 1 ;;
  *) printf '{"sent":true,"to":"%s"}\\n' "$to" ;;
esac
`;

/** Makes the tool in a folder of its own. */
export async function standInTool(): Promise<StandInTool> {
  const folder = await temporaryFolder();
  const bin = join(folder, "wacli");
  writeFileSync(bin, TOOL);
  chmodSync(bin, 0o755);
  const calls = () =>
    existsSync(join(folder, "calls"))
      ? readFileSync(join(folder, "calls"), "utf8")
          .split("\0END\0")
          .slice(0, -1)
          .map((call) => call.split("\0"))
      : [];
  const value = (args: readonly string[], flag: string) => args.find((one) => one.startsWith(`${flag}=`))?.slice(flag.length + 1) ?? "";
  return {
    bin,
    calls,
    sent: () => calls().flatMap((args) => (args[0] === "send" ? [{ to: value(args, "--to"), text: value(args, "--message") }] : [])),
    behave: (how) => writeFileSync(join(folder, "how"), `${how}\n`),
  };
}

/** An agent that gives the verdicts it is handed, and keeps what it was asked. */
export interface Judge {
  readonly plugin: Plugin<never>;
  readonly prompts: string[];
  readonly files: string[];
  verdict: (prompt: string) => Verdict | "fail";
}

export function createJudge(): Judge {
  const judge: Judge = { plugin: undefined as never, prompts: [], files: [], verdict: () => ({ action: "ignore", summary: "nothing" }) };
  const tier: Tier = {
    name: "judge",
    async *run(turn, { prompt }) {
      judge.prompts.push(prompt);
      for (const { path } of turn.messages.flatMap(({ media = [] }) => media)) if (path !== undefined) judge.files.push(readFileSync(path, "utf8"));
      const verdict = judge.verdict(prompt);
      if (verdict === "fail") return yield { type: "error", kind: "engine", message: "the engine said no" };
      const text = JSON.stringify(verdict);
      yield { type: "text", text };
      yield { type: "done" };
    },
  };
  const plugin = definePlugin({
    kind: "tier",
    name: "judge",
    version: "1.0.0",
    svc: "^0.1.0",
    capabilities: [],
    setup: (ctx) => void ctx.provide.tier(tier),
  }) as Plugin<never>;
  return Object.assign(judge, { plugin });
}

/** A daemon with triage, a chat that is asked, and a stand-in for the sync tool. */
export interface Sorting extends Asking {
  readonly judge: Judge;
  readonly tool: StandInTool;
  /** Posts a message as the sync tool does. */
  post(message: object, headers?: Readonly<Record<string, string>>): Promise<number>;
}

export const signed = (body: string, secret = SECRET) => ({ "x-wacli-signature": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}` });

let ids = 0;
/** A message as `wacli sync --webhook` posts it. */
export const phoneMessage = (more: object = {}) => ({
  Chat: "491511234567@s.whatsapp.net",
  ID: `3EB0${(++ids).toString(16).padStart(8, "0")}`,
  SenderJID: "491511234567@s.whatsapp.net",
  Timestamp: "2026-07-25T10:00:00Z",
  FromMe: false,
  Text: "Shall we meet on Friday?",
  PushName: "Alice",
  ChatName: "Alice",
  Media: null,
  ...more,
});

const RULE = { id: "alice", chats: ["+49 151 1234567"], agent: "a" };

/** Started; stopped after the test. */
export async function runTriage(settings: object = {}, options: AskingOptions = {}): Promise<Sorting> {
  const judge = createJudge();
  const tool = await standInTool();
  const asking = await runAsking({
    ...options,
    agent: { tier: "judge" },
    inline: [judge.plugin, triage as unknown as Plugin<never>],
    env: { ...process.env, WACLI_WEBHOOK_SECRET: SECRET, ...options.env },
    config: { phoneTriage: { enabled: true, batchSeconds: 0, wacli: { bin: tool.bin }, rules: [RULE], ...settings }, ...options.config },
  });
  return Object.assign(asking, {
    judge,
    tool,
    async post(message: object, headers?: Readonly<Record<string, string>>) {
      const body = JSON.stringify(message);
      const response = await fetch(`${asking.daemon}/webhook/wacli`, {
        method: "POST",
        body,
        headers: { "content-type": "application/json", ...(headers ?? signed(body)) },
      });
      await response.arrayBuffer();
      return response.status;
    },
  });
}
