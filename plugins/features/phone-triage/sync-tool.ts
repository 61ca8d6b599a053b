import { type ChildEnd, type PluginContext, reasonOf } from "@svc/sdk";
import type { TriageSettings } from "./settings.ts";

const SEND_MS = 120_000;
const FETCH_MS = 60_000;
const LOOK_MS = 10_000;

/** Result of sending a reply. `unknown`: it may have been sent. */
export type Sent = { readonly state: "sent" } | { readonly state: "failed" | "unknown"; readonly reason: string };

/** The program that syncs the phone's chats, started anew for each thing it does. */
export class SyncTool {
  readonly #ctx: Pick<PluginContext, "spawn" | "files" | "env">;
  readonly #settings: () => TriageSettings["wacli"];

  constructor(ctx: Pick<PluginContext, "spawn" | "files" | "env">, settings: () => TriageSettings["wacli"]) {
    this.#ctx = ctx;
    this.#settings = settings;
  }

  /** Why it cannot be used; undefined where it answers. */
  async problem(): Promise<string | undefined> {
    const end = await this.#run(["version"], LOOK_MS);
    return typeof end === "string" ? end : undefined;
  }

  /** Sends words to a chat, once: what fails after the program began its work is not tried again. */
  async send(chat: string, text: string): Promise<Sent> {
    // One argument each, joined: words that begin with a dash stay words.
    const end = await this.#run(["send", "text", `--to=${addressOf(chat)}`, `--message=${text}`, "--json"], SEND_MS);
    if (typeof end === "string") return { state: "failed", reason: end };
    if (end.code === 0) return { state: "sent" };
    const reason = lastLine(end.stderr) ?? `it ended with ${end.signal ?? `code ${end.code}`}`;
    return { state: end.reason !== undefined || end.signal !== null ? "unknown" : "failed", reason };
  }

  /** Fetches the file of a message into the plugin's own folder. Resolves with its path, or with the reason for a failure. */
  async fetch(chat: string, message: string, file: string, signal: AbortSignal): Promise<{ readonly path: string } | { readonly reason: string }> {
    await this.#ctx.files.own.write(`media/${file}`, "");
    const path = await this.#ctx.files.own.resolve(`media/${file}`);
    await this.#ctx.files.own.remove(`media/${file}`);
    const end = await this.#run(
      ["media", "download", `--chat=${addressOf(chat)}`, `--id=${message}`, `--output=${path}`, "--read-only", "--json"],
      FETCH_MS,
      signal,
    );
    if (typeof end === "string") return { reason: end };
    if (end.code !== 0) return { reason: lastLine(end.stderr) ?? `it ended with ${end.signal ?? `code ${end.code}`}` };
    try {
      return { path: await this.#ctx.files.own.resolve(`media/${file}`) };
    } catch {
      return { reason: "it wrote no file" };
    }
  }

  /** Returns the end of the program, or why it could not be started. */
  async #run(args: readonly string[], timeoutMs: number, signal?: AbortSignal): Promise<ChildEnd | string> {
    const { bin, account, store } = this.#settings();
    const where = [...(account === undefined ? [] : [`--account=${account}`]), ...(store === undefined ? [] : [`--store=${store}`])];
    const config = this.#ctx.env("XDG_STATE_HOME");
    const child = this.#ctx.spawn(bin, [...args, ...where], {
      cwd: "/",
      stdin: "ignore",
      timeoutMs,
      ...(signal === undefined ? {} : { signal }),
      ...(config === undefined ? {} : { env: { XDG_STATE_HOME: config } }),
    });
    try {
      await child.started;
    } catch (error) {
      return `${bin} cannot be started (${reasonOf(error)}); install it or name it in phoneTriage.wacli.bin`;
    }
    return child.ended;
  }
}

/** A phone number is given with its ending, so that no name of a contact is looked up for it. */
const addressOf = (chat: string): string => (chat.includes("@") ? chat : `${chat}@s.whatsapp.net`);

const lastLine = (text: string): string | undefined =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean)
    .at(-1)
    ?.slice(0, 300);
