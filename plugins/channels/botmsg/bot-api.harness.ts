import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { bodyOf, buttonProblem, entitiesOf, json, parse, reply } from "./bot-wire.harness.ts";

/** A message as people see it. */
export interface Shown {
  readonly id: number;
  readonly chat: number;
  text: string;
  html?: string;
  markup?: unknown;
  readonly from: string;
  readonly replyTo?: number;
  readonly thread?: number;
  readonly file?: { readonly method: string; readonly name: string; readonly data: Uint8Array };
  readonly poll?: { readonly question: string; readonly options: readonly string[] };
}

export interface Call {
  readonly method: string;
  readonly body: Record<string, unknown>;
  readonly token: string;
}

/** A refusal as the platform words it; `cut` breaks the connection after the effect, `hang` never answers. */
export type Fault = { readonly code: number; readonly description: string; readonly parameters?: object } | "cut" | "hang";

interface Update {
  readonly update_id: number;
  readonly [kind: string]: unknown;
}

interface Poller {
  readonly offset: number;
  readonly limit: number;
  answer(updates: unknown[]): void;
  conflict(): void;
}

interface Bot {
  readonly id: number;
  readonly username: string;
  readonly queue: Update[];
  /** Handed out once more whatever the offset says. */
  readonly again: Update[];
  poller?: Poller;
  webhook: boolean;
}

/** A strict server of the bot API on this machine: it checks what it is sent, long polls with offsets, and fails as told. */
export interface BotApi {
  readonly root: string;
  readonly calls: Call[];
  readonly shown: Shown[];
  readonly reactions: Map<number, string>;
  /** What people who pressed a button were told, in order. */
  readonly answers: { readonly id: string; readonly text?: string; readonly alert: boolean }[];
  /** Called for each call of a writing method; what it returns is the answer instead. */
  fault: (call: Call) => Fault | undefined;
  /** What each poll is refused with. */
  pollFault?: Exclude<Fault, string>;
  addBot(token: string, id: number, username: string): void;
  removeBot(token: string): void;
  addChat(id: number, type?: "private" | "group" | "supergroup", title?: string): void;
  /** A person writes; `more` is laid over the message. Resolves with its id. */
  say(token: string, said: { chat: number; from?: object; text?: string; more?: Record<string, unknown> }): number;
  /** `old`: the message is one that the platform does not show to bots any more. `chat`: it is in another chat than it was sent to. */
  press(token: string, press: { from: object; message: number; data: string; old?: boolean; chat?: number }): void;
  /** Hands an update out once more, under its old id. */
  repeat(token: string): void;
  /** Answers a waiting poll with nothing. */
  idle(token: string): void;
  /** A poll waits, for nothing in particular. */
  waits(token: string): boolean;
  /** Forgets that the newest update was confirmed: it is handed out until it is confirmed again. */
  unconfirm(token: string): void;
  addFile(id: string, data: Uint8Array): void;
  polls(token: string): number;
  /** Updates of a bot that no poll has confirmed. */
  unconfirmed(token: string): number;
  cutAll(): void;
  refuse(on: boolean): void;
  close(): Promise<void>;
}

const WRITING = new Set([
  "sendMessage",
  "editMessageText",
  "sendPhoto",
  "sendDocument",
  "sendVideo",
  "sendAudio",
  "sendPoll",
  "deleteMessage",
  "setMessageReaction",
]);
export const FRIEND = { id: 700, is_bot: false, first_name: "Ada", last_name: "Byron", username: "Ada_B" };

export async function startBotApi(): Promise<BotApi> {
  const bots = new Map<string, Bot>();
  const chats = new Map<number, { id: number; type: string; title?: string; first_name?: string }>();
  const files = new Map<string, Uint8Array>();
  const sockets = new Set<Socket>();
  const polls = new Map<string, number>();
  let lastMessage = 100;
  let lastUpdate = 5_000;
  let refusing = false;

  const api: BotApi = {
    root: "",
    calls: [],
    shown: [],
    reactions: new Map(),
    answers: [],
    fault: () => undefined,
    addBot: (token, id, username) => void bots.set(token, { id, username, queue: [], again: [], webhook: true }),
    removeBot: (token) => void bots.delete(token),
    addChat: (id, type = "private", title) => void chats.set(id, { id, type, ...(title === undefined ? { first_name: "Ada" } : { title }) }),
    say(token, { chat, from = FRIEND, text, more = {} }) {
      lastMessage += 1;
      push(token, "message", {
        message_id: lastMessage,
        date: 1,
        chat: chats.get(chat),
        from,
        ...(text === undefined ? {} : { text, ...entitiesOf(text) }),
        ...more,
      });
      return lastMessage;
    },
    press(token, { from, message, data, old = false, chat }) {
      const shown = api.shown.find(({ id }) => id === message);
      const place = { message_id: message, chat: chats.get(chat ?? shown?.chat ?? 0) };
      const id = `cb${lastUpdate}`;
      queries.add(id);
      push(token, "callback_query", {
        id,
        from,
        chat_instance: "1",
        data,
        message: old ? { ...place, date: 0 } : { ...place, date: 1, text: shown?.text, reply_markup: shown?.markup },
      });
    },
    repeat(token) {
      const bot = bots.get(token) as Bot;
      const newest = history.get(token)?.at(-1);
      if (newest === undefined) return;
      bot.again.push(newest as never);
      serve(bot);
    },
    idle(token) {
      const bot = bots.get(token) as Bot;
      const { poller } = bot;
      delete bot.poller;
      poller?.answer([]);
    },
    waits: (token) => bots.get(token)?.poller?.offset === 0,
    unconfirm(token) {
      const bot = bots.get(token) as Bot;
      bot.queue.push(history.get(token)?.at(-1) as never);
      serve(bot);
    },
    addFile: (id, data) => void files.set(id, data),
    polls: (token) => polls.get(token) ?? 0,
    unconfirmed: (token) => bots.get(token)?.queue.length ?? 0,
    cutAll: () => {
      for (const socket of sockets) socket.destroy();
    },
    refuse: (on) => void (refusing = on),
    close: () =>
      new Promise((resolve) => {
        api.cutAll();
        server.close(() => resolve());
      }),
  };
  const history = new Map<string, unknown[]>();
  const queries = new Set<string>();

  function push(token: string, kind: string, value: unknown): void {
    const bot = bots.get(token);
    if (bot === undefined) throw new Error(`no bot ${token}`);
    lastUpdate += 1;
    const update = { update_id: lastUpdate, [kind]: JSON.parse(JSON.stringify(value)) };
    bot.queue.push(update);
    history.set(token, [...(history.get(token) ?? []), update]);
    serve(bot);
  }

  function serve(bot: Bot): void {
    const { poller } = bot;
    if (poller === undefined || bot.queue.length + bot.again.length === 0) return;
    delete bot.poller;
    poller.answer(due(bot, poller.limit));
  }

  /** Nothing is handed out once more while an earlier update waits beyond the limit: confirming the later one would lose the earlier. */
  const due = (bot: Bot, limit: number) => {
    const beyond = bot.queue[limit]?.update_id ?? Number.POSITIVE_INFINITY;
    return [...bot.queue.slice(0, limit), ...bot.again.splice(0).filter(({ update_id }) => update_id < beyond)];
  };

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (refusing) return void request.socket.destroy();
    const download = /^\/file\/bot([^/]+)\/files\/(.+)$/.exec(request.url ?? "");
    if (download !== null) {
      const data = files.get(download[2] as string);
      response.writeHead(bots.has(download[1] as string) && data !== undefined ? 200 : 404);
      return void response.end(data);
    }
    const [, token = "", method = ""] = /^\/bot([^/]+)\/(\w+)$/.exec(request.url ?? "") ?? [];
    const body = await bodyOf(request);
    const ok = (result: unknown) => reply(response, 200, { ok: true, result });
    const no = (code: number, description: string, parameters?: object) =>
      reply(response, code, { ok: false, error_code: code, description, ...(parameters === undefined ? {} : { parameters }) });
    const bot = bots.get(token);
    if (bot === undefined) return no(401, "Unauthorized");
    if (method === "getUpdates") return poll(bot, token, body, response, no);
    const call = { method, body, token };
    api.calls.push(call);
    const fault = WRITING.has(method) ? api.fault(call) : undefined;
    if (fault === "hang") return;
    if (fault !== undefined && fault !== "cut") return no(fault.code, fault.description, fault.parameters);
    const answer = act(bot, method, body);
    if (fault === "cut") return void request.socket.destroy();
    if ("result" in answer) return ok(answer.result);
    return no(400, `Bad Request: ${answer.problem}`);
  }

  function poll(
    bot: Bot,
    token: string,
    body: Record<string, unknown>,
    response: ServerResponse,
    no: (code: number, text: string, parameters?: object) => void,
  ): void {
    polls.set(token, (polls.get(token) ?? 0) + 1);
    const fault = api.pollFault;
    if (fault !== undefined) return void no(fault.code, fault.description, fault.parameters);
    if (bot.webhook) {
      no(409, "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first");
      return;
    }
    bot.poller?.conflict();
    const offset = Number(body.offset ?? 0);
    while (bot.queue[0] !== undefined && bot.queue[0].update_id < offset) bot.queue.shift();
    const limit = Number(body.limit ?? 100);
    let timer: NodeJS.Timeout | undefined;
    const answer = (updates: unknown[]) => {
      clearTimeout(timer);
      reply(response, 200, { ok: true, result: updates });
    };
    const poller: Poller = {
      offset,
      limit,
      answer,
      conflict() {
        clearTimeout(timer);
        no(409, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running");
      },
    };
    if (bot.queue.length + bot.again.length > 0 || Number(body.timeout ?? 0) === 0) {
      answer(due(bot, limit));
      return;
    }
    bot.poller = poller;
    const leave = () => {
      clearTimeout(timer);
      if (bot.poller === poller) delete bot.poller;
    };
    timer = setTimeout(() => {
      leave();
      answer([]);
    }, Number(body.timeout) * 1_000);
    timer.unref();
    response.once("close", leave);
  }

  function act(bot: Bot, method: string, body: Record<string, unknown>): { result: unknown } | { problem: string } {
    const chat = chats.get(Number(body.chat_id));
    const find = () => api.shown.find(({ id, chat: at }) => id === Number(body.message_id) && at === chat?.id);
    const post = (made: Omit<Shown, "id" | "chat" | "from">) => {
      lastMessage += 1;
      const replyTo = (json(body.reply_parameters) as { message_id?: number } | undefined)?.message_id;
      const thread = body.message_thread_id === undefined ? undefined : Number(body.message_thread_id);
      api.shown.push({
        id: lastMessage,
        chat: chat?.id ?? 0,
        from: bot.username,
        ...made,
        ...(replyTo === undefined ? {} : { replyTo }),
        ...(thread === undefined ? {} : { thread }),
      });
      return { result: { message_id: lastMessage, date: 1, chat, from: { id: bot.id, is_bot: true, first_name: "bot" } } };
    };
    if (WRITING.has(method) && chat === undefined) return { problem: "chat not found" };
    switch (method) {
      case "getMe":
        return { result: { id: bot.id, is_bot: true, first_name: bot.username, username: bot.username } };
      case "deleteWebhook":
        bot.webhook = false;
        return { result: true };
      case "sendMessage":
      case "editMessageText": {
        const parsed = parse(String(body.text ?? ""), body.parse_mode);
        if ("problem" in parsed) return parsed;
        if (parsed.text.trim() === "") return { problem: "message text is empty" };
        if (parsed.text.length > 4_096) return { problem: "message is too long" };
        const markup = json(body.reply_markup);
        const wrong = buttonProblem(markup);
        if (wrong !== undefined) return { problem: wrong };
        const shown = { text: parsed.text, ...(body.parse_mode === undefined ? {} : { html: String(body.text) }), ...(markup === undefined ? {} : { markup }) };
        if (method === "sendMessage") return post(shown);
        const before = find();
        if (before === undefined) return { problem: "message to edit not found" };
        if (before.text === shown.text && before.html === shown.html && JSON.stringify(before.markup) === JSON.stringify(markup))
          return { problem: "message is not modified: specified new message content and reply markup are exactly the same" };
        Object.assign(before, { html: undefined, markup: undefined }, shown);
        return { result: { message_id: before.id, date: 1, chat } };
      }
      case "sendPhoto":
      case "sendDocument":
      case "sendVideo":
      case "sendAudio": {
        const field = method.slice(4).toLowerCase();
        const given = body[field];
        const upload = typeof given === "string" && given.startsWith("attach://") ? body[given.slice(9)] : given;
        if (upload instanceof Uint8Array)
          return post({ text: "", file: { method, name: String((upload as Uint8Array & { fileName?: string }).fileName ?? ""), data: upload } });
        const stored = files.get(String(given));
        return stored === undefined ? { problem: "wrong file identifier/HTTP URL specified" } : post({ text: "", file: { method, name: "", data: stored } });
      }
      case "sendPoll": {
        const options = (json(body.options) as { text: string }[]).map(({ text }) => text);
        if (options.length < 2) return { problem: "poll must have at least 2 options" };
        return post({ text: "", poll: { question: String(body.question), options } });
      }
      case "deleteMessage": {
        const at = api.shown.indexOf(find() as Shown);
        if (at === -1) return { problem: "message to delete not found" };
        api.shown.splice(at, 1);
        return { result: true };
      }
      case "setMessageReaction":
        if (!Number.isInteger(Number(body.message_id))) return { problem: "message to react not found" };
        api.reactions.set(Number(body.message_id), (json(body.reaction) as { emoji: string }[])[0]?.emoji ?? "");
        return { result: true };
      case "getFile":
        if ((files.get(String(body.file_id))?.byteLength ?? 0) > 20 * 1_048_576) return { problem: "file is too big" };
        return files.has(String(body.file_id))
          ? { result: { file_id: body.file_id, file_unique_id: "u", file_path: `files/${body.file_id}` } }
          : { problem: "wrong file_id" };
      case "answerCallbackQuery": {
        const id = String(body.callback_query_id);
        if (String(body.text ?? "").length > 200) return { problem: "MESSAGE_TOO_LONG" };
        if (!queries.has(id) || api.answers.some((answer) => answer.id === id))
          return { problem: "query is too old and response timeout expired or query ID is invalid" };
        api.answers.push({ id, ...(body.text === undefined ? {} : { text: String(body.text) }), alert: body.show_alert === true });
        return { result: true };
      }
      case "sendChatAction":
        return { result: true };
      default:
        return { problem: `no method ${method}` };
    }
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error) => reply(response, 500, { ok: false, error_code: 500, description: String(error) }));
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  return Object.assign(api, { root: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}
