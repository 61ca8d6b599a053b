import { createInterface } from "node:readline";
import type { Duplex } from "node:stream";
import { channelError, definePlugin, keepTrying, type Message, sleep } from "@svc/sdk";

interface Settings {
  readonly host: string;
  readonly port: number;
  readonly nick: string;
  readonly agent: string;
  readonly allowFrom: readonly string[];
}

const text = { type: "string" } as const;

export default definePlugin<Settings>({
  kind: "channel",
  name: "lines",
  version: "0.1.0",
  svc: ">=0.1.0",
  config: {
    at: "channels.lines",
    schema: {
      type: "object",
      properties: { host: text, port: { type: "integer" }, nick: text, agent: text, allowFrom: { type: "array", items: text } },
      required: ["host", "port", "nick", "agent", "allowFrom"],
    },
  },
  capabilities: ["sockets", "tasks"],
  setup(ctx) {
    const { host, port, nick, agent, allowFrom } = ctx.config;
    let socket: Duplex | undefined;
    // `stop` runs while ctx.signal still stands.
    const end = new AbortController();
    const signal = AbortSignal.any([ctx.signal, end.signal]);
    const channel = ctx.provide.channel({
      name: "lines",
      traits: { maxChars: 400, unit: "utf8", dialect: "plain", lines: "one" },
      async send({ target, text }) {
        if (socket === undefined) throw channelError("retry", "There is no connection to the server.");
        socket.write(`PRIVMSG ${target.chat} :${text}\r\n`);
        return {};
      },
    });

    async function hear(line: string): Promise<void> {
      const [, from = "", to, said = ""] = /^:([^!\s]+)\S* PRIVMSG (\S+) :(.*)$/.exec(line) ?? [];
      if (to !== nick || !allowFrom.includes(from)) return;
      const message: Message = { entry: "channel", channel: "lines", chat: from, direct: true, sender: { id: from }, text: said, agent };
      // The server says it once: it is tried until it is stored.
      await keepTrying(() => ctx.tasks.accept(message), { signal });
    }

    async function connection(): Promise<void> {
      // The operator named this server, be it on this machine.
      const open = await ctx.sockets.connect({ host, port, signal, trustedHosts: [`${host}:${port}`] });
      open.on("error", () => undefined);
      open.write(`NICK ${nick}\r\nUSER svc 0 * :svc\r\n`);
      const lines = createInterface({ input: open });
      // Readline does not end by itself where a connection breaks.
      open.once("close", () => lines.close());
      for await (const line of lines) {
        if (line.startsWith("PING ")) open.write(`PONG ${line.slice(5)}\r\n`);
        else if (/^\S+ 001 /.test(line)) {
          socket = open;
          channel.ready();
        } else await hear(line);
      }
      socket = undefined;
      channel.down("the server hung up");
    }

    async function stay(): Promise<void> {
      const failed = (error: unknown) => channel.down((error as Error).message);
      while (!signal.aborted) {
        await keepTrying(connection, { signal, failed });
        await sleep(1_000, signal);
      }
    }
    let staying: Promise<void> = Promise.resolve();
    return {
      async start() {
        staying = stay().catch(() => undefined);
      },
      async stop() {
        end.abort();
        await staying;
      },
    };
  },
});
