import { type Channel, type ChannelHandle, channelError, codeOf, type Media, type Outgoing, type PluginContext, type Target } from "@svc/sdk";
import { Api, InputFile } from "grammy";
import type { Update, UserFromGetMe } from "grammy/types";
import { type Account, createAccount, tellState } from "./account.ts";
import { createAsked } from "./asked.ts";
import { failureOf, isLockedOut, refusedToken } from "./failure.ts";
import { type Heard, heardOf } from "./map.ts";
import { createOutbound, foreign, type Outbound } from "./outbound.ts";
import type { Pairing } from "./pairing.ts";
import { agentMeant, judge } from "./policy.ts";
import type { AccountSettings, Settings } from "./settings.ts";

/** All accounts together: what the channel's members do once it has started. */
export interface Client extends Required<Pick<Channel, "send" | "edit" | "remove" | "react" | "typing" | "fetchMedia" | "test">> {
  start(): void;
  stop(): Promise<void>;
}

interface Line {
  readonly settings: AccountSettings;
  readonly apiRoot: string;
  readonly api: Api;
  readonly outbound: Outbound;
  readonly account: Account;
}

const PUBLIC_ROOT = "https://api.telegram.org";
/** The platform's own limit for downloads by bots. */
const DOWNLOAD_BYTES = 20 * 1_048_576;
const CALL_SECONDS = 60;
/** The longest text of an alert. */
const ALERT_CHARS = 200;
const NOT_YOURS = "You cannot answer this here.";

/** Makes the client of all configured accounts; it connects with `start`. */
export function createClient(ctx: PluginContext<Settings>, handle: ChannelHandle, pairing: Pairing): Client {
  const { config, log } = ctx;
  const asked = createAsked(ctx);
  const lines = new Map<string, Line>();
  /** Accounts that are configured and cannot be used, with the reason. */
  const unused = new Map<string, string>();

  for (const [name, settings] of Object.entries(config.accounts ?? {})) {
    const twin = [...lines].find(([, line]) => line.settings.token === settings.token)?.[0];
    if (twin !== undefined || settings.token === "") {
      const reason = twin === undefined ? "its token is empty" : `it has the same token as ${twin}`;
      unused.set(name, reason);
      log.error({ account: name }, `account ${name} is not used: ${reason}; check channels.botmsg.accounts.${name}.token`);
      continue;
    }
    const apiRoot = (settings.apiRoot ?? config.apiRoot ?? PUBLIC_ROOT).replace(/\/+$/, "");
    const api = new Api(settings.token, { apiRoot, timeoutSeconds: CALL_SECONDS });
    const outbound = createOutbound({
      api,
      asked,
      render: () => ctx.render,
      rich: () => ctx.agents.get(settings.agentBinding)?.settings.richMessages !== false,
      upload,
    });
    const account = createAccount({
      ctx,
      name,
      api,
      polls: settings.pollInbound !== false,
      take: (update, me) => take(name, settings, api, update, me),
      changed: () =>
        tellState(
          [...lines.values()].map((line) => line.account),
          handle,
        ),
    });
    lines.set(name, { settings, apiRoot, api, outbound, account });
  }

  async function take(name: string, settings: AccountSettings, api: Api, update: Update, me: UserFromGetMe): Promise<void> {
    const heard = heardOf(update, name, me);
    if (heard === undefined) return;
    const refusal = await judged(heard, name, settings);
    if (heard.callbackId !== undefined) answerPress(api, heard.callbackId, refusal, ctx.signal);
  }

  /** Hand a message over. Answers why that was not done, for the person who pressed a button. */
  async function judged(heard: Heard, name: string, settings: AccountSettings): Promise<string | undefined> {
    const elsewhere = new Set([...lines.values()].map((line) => line.settings.agentBinding));
    const agent = agentMeant(heard, settings.agentBinding, ctx.agents.list(), elsewhere);
    // Naming an agent that answers here addresses this bot.
    const meant = { ...heard, addressed: heard.addressed || agent !== settings.agentBinding };
    const verdict = await judge(meant, settings, config.policy ?? {}, pairing.known(name));
    if (verdict.kind === "drop") {
      drop(heard, settings, verdict.reason);
      return NOT_YOURS;
    }
    if (verdict.kind === "pair") {
      await invite(heard, settings);
      return "This bot does not know you yet.";
    }
    try {
      await ctx.tasks.accept({ ...heard.message, agent });
      return undefined;
    } catch (error) {
      const { status = 500, message } = error as { status?: number; message: string };
      // A message that the kernel will never accept must not block later ones.
      if (status < 400 || status >= 500) throw error;
      drop(heard, settings, message);
      return heard.message.choice === undefined ? "This was not taken." : message;
    }
  }

  /** CHAN-08: each message that is not handed over is told of once. */
  function drop({ message }: Heard, { agentBinding }: AccountSettings, reason: string): void {
    const { platformId } = message;
    ctx.events.root(() =>
      ctx.events.publish({
        kind: "message",
        type: "message:dropped",
        agentId: agentBinding,
        summary: `botmsg message dropped: ${reason}`,
        ...(platformId === undefined ? {} : { ref: platformId }),
        data: { channel: "botmsg", ...(message.account === undefined ? {} : { account: message.account }), reason },
      }),
    );
  }

  async function invite(heard: Heard, settings: AccountSettings): Promise<void> {
    const { account = "", chat, sender } = heard.message;
    const code = await pairing.offer({ account, chat, sender: sender?.id ?? "", ...(sender?.name === undefined ? {} : { name: sender.name }) });
    if (code !== undefined) {
      const text = `This bot does not know you yet. Give this code to its operator, who confirms it with: svc channel pair ${code}\n\nIt is valid for an hour.`;
      try {
        await ctx.tasks.deliver({ kind: "notice", target: { channel: "botmsg", account, chat }, text });
      } catch (error) {
        // Nobody has that code: the next try makes another one.
        await pairing.withdraw(account, sender?.id ?? "");
        throw error;
      }
    }
    drop(heard, settings, "the sender is not paired yet");
  }

  const lineOf = ({ account }: Pick<Target, "account">): Line => {
    const line = account === undefined ? lines.values().next().value : lines.get(account);
    if (line === undefined) throw channelError("permanent", `channels.botmsg has no usable account '${account ?? ""}'`);
    if (line.account.state === "refused") throw channelError("retry", line.account.reason);
    return line;
  };

  return {
    start() {
      if (lines.size === 0) tellState([], handle);
      for (const { account } of lines.values()) account.start();
    },
    async stop() {
      await Promise.all([...lines.values()].map(({ account }) => account.stop()));
    },
    send: async (out: Outgoing, signal) => ({ platformId: await lineOf(out.target).outbound.send(out, signal) }),
    edit: async (platformId, out, signal) => lineOf(out.target).outbound.edit(platformId, out, signal),
    remove: async (target, platformId, signal) => lineOf(target).outbound.remove(target, platformId, signal),
    react: async (target, platformId, emoji, signal) => lineOf(target).outbound.react(target, platformId, emoji, signal),
    typing: async (target, signal) => lineOf(target).outbound.typing(target, signal),
    async fetchMedia({ handle: file = "", type }, signal) {
      const [account = "", id = ""] = splitOnce(file);
      const data = await download(ctx, lineOf({ account }), id, signal);
      return { data, ...(type === undefined ? {} : { type }) };
    },
    /** Every account must be one that the platform knows: one that works does not hide one that does not. */
    async test(signal) {
      const asked = await Promise.all([...lines].map(([name, { api }]) => whoIs(name, api, signal)));
      const wrong = [...asked.filter(({ ok }) => !ok), ...[...unused].map(([name, reason]) => ({ text: `${name}: ${reason}` }))];
      const fine = asked.filter(({ ok }) => ok).map(({ text }) => text);
      if (wrong.length > 0) throw channelError("permanent", [...wrong.map(({ text }) => text), ...fine].join("; "));
      if (fine.length === 0) throw channelError("permanent", "no account is configured");
      return fine.join(", ");
    },
  };
}

/** The platform shows that the button works until it is answered, and forgets the question after some seconds: one try. */
function answerPress(api: Api, id: string, refusal: string | undefined, signal: AbortSignal): void {
  const words = refusal === undefined ? {} : { text: refusal.slice(0, ALERT_CHARS), show_alert: true };
  void api.answerCallbackQuery(id, words, foreign(signal)).catch(() => {});
}

/** The bytes of a file of the platform. The address holds the token: neither it nor an error that may name it goes further. */
async function download({ fetch }: Pick<PluginContext, "fetch">, { api, apiRoot, settings }: Line, id: string, signal: AbortSignal): Promise<Uint8Array> {
  const { file_path } = await api.getFile(id, foreign(signal)).catch((error) => Promise.reject(failureOf(error)));
  if (file_path === undefined) throw channelError("permanent", "the platform does not give this file out");
  const answer = await fetch(`${apiRoot}/file/bot${settings.token}/${file_path}`, {
    signal,
    maxBytes: DOWNLOAD_BYTES,
    trustedOrigins: [new URL(apiRoot).origin],
  }).catch((error: unknown) => codeOf(error));
  if (typeof answer === "object" && answer.status === 200 && !answer.truncated) return answer.body;
  const tooLarge = typeof answer === "object" ? answer.truncated : answer === "SVC_FETCH_TOO_LARGE";
  const reason = tooLarge ? "it is too large" : typeof answer === "object" ? answer.status : "no answer";
  throw channelError(tooLarge ? "permanent" : "retry", `a file could not be downloaded: ${reason}`);
}

async function whoIs(name: string, api: Api, signal: AbortSignal): Promise<{ readonly ok: boolean; readonly text: string }> {
  try {
    return { ok: true, text: `${name}: @${(await api.getMe(foreign(signal))).username}` };
  } catch (error) {
    return { ok: false, text: `${name}: ${isLockedOut(error) ? refusedToken(name) : failureOf(error).message}` };
  }
}

function upload({ data, path, name }: Media): InputFile {
  return new InputFile(data ?? path ?? "", name);
}

const splitOnce = (text: string): [string, string] => {
  const at = text.lastIndexOf("/");
  return [text.slice(0, at), text.slice(at + 1)];
};
