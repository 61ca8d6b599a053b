import { afterEach, describe, expect, it } from "vitest";
import { channelError } from "../errors.ts";
import { definePlugin, type Plugin, type PluginContext } from "../plugin.ts";
import { tortureContract } from "./torture-contract.ts";
import type { TortureSubject } from "./torture-run.ts";

/** The cases that a subject fails, each with the reason. */
async function failures(subject: TortureSubject): Promise<Map<string, string>> {
  const cases: { name: string; run: () => Promise<void> }[] = [];
  tortureContract({ describe: (_name, define) => define(), it: (name, run) => cases.push({ name, run }) }, { endMs: 300, ...subject });
  const failed = new Map<string, string>();
  for (const { name, run } of cases) {
    try {
      await run();
    } catch (error) {
      failed.set(name, (error as Error).message);
    }
  }
  return failed;
}

const plugin = (setup: (ctx: PluginContext<{ word?: string; token?: string }>) => ReturnType<Plugin["setup"]>, more: Partial<Plugin> = {}) =>
  ({
    ...definePlugin({
      kind: "feature",
      name: "victim",
      version: "1.0.0",
      svc: "*",
      config: {
        at: "victim",
        schema: { type: "object", properties: { word: { type: "string", pattern: "^https?:" }, token: { type: "string", secret: true } } },
      },
      capabilities: ["fetch", "store", "routes"],
      setup: setup as never,
    }),
    ...more,
  }) as unknown as Plugin<never>;

const names = async (subject: TortureSubject) => [...(await failures(subject)).keys()];
/** Cases that have a far end, and those that hear hostile words. */
const isFarEnd = (name: string) => name.startsWith("its far end");
const isWords = (name: string) => name.startsWith("it is told");

afterEach(() => {
  for (const name of ["torture"]) Reflect.deleteProperty(Object.prototype, name);
});

describe("the torture of a plugin", () => {
  it("leaves one that does nothing wrong alone", async () => {
    const good = plugin((ctx) => {
      ctx.hooks.inbound.tap(({ text }) => (text.includes("no") ? { reject: "no" } : undefined));
      ctx.provide.channel({
        name: "good",
        traits: { maxChars: 100, unit: "utf16", dialect: "plain" },
        async send(_out, signal) {
          try {
            const { status } = await ctx.fetch("https://platform/", { signal });
            if (status !== 200) throw channelError("retry", `it answered ${status}`);
            return { platformId: "1" };
          } catch (error) {
            throw channelError("unknown", (error as Error).message);
          }
        },
      });
    });
    expect(await names({ plugin: good, config: { word: "https://platform", token: "a-secret-token" } })).toEqual([]);
  });

  it("finds what breaks of hostile words", async () => {
    const failed = await failures({
      plugin: plugin((ctx) => {
        ctx.hooks.inbound.tap(({ text }) => void JSON.parse(`"${text}"`));
      }),
    });
    const words = [...failed.keys()];
    expect(words.every(isWords)).toBe(true);
    expect(words).toContain("it is told control signs");
    expect(failed.get("it is told control signs")).toContain("hook inbound, given control signs: it threw");
  });

  it("finds one that changes what it is handed, and one that changes every object", async () => {
    const changes = plugin((ctx) => ctx.hooks.deliver.tap((delivery) => Object.assign(delivery, { text: "mine" })));
    expect((await names({ plugin: changes })).filter(isWords).length).toBeGreaterThan(10);
    const pollutes = plugin((ctx) =>
      ctx.hooks.inbound.tap(({ facts = {} }) => {
        (Object.prototype as unknown as Record<string, unknown>).torture = Object.keys(facts);
      }),
    );
    expect([...(await failures({ plugin: pollutes })).values()]).toContainEqual(expect.stringContaining("it changed every object"));
  });

  it("finds a call that goes on after its abort, and a stop that never ends", async () => {
    const deaf = plugin((ctx) =>
      ctx.provide.tool({ name: "deaf", description: "d", input: { type: "object" }, run: async () => (await ctx.fetch("https://platform/")).text() }),
    );
    const failed = await failures({ plugin: deaf });
    expect(failed.get("its far end never answers: each call ends, and fails as it should")).toContain("tool deaf");
    expect([...failed.keys()]).toContain("each call is aborted before it begins");
    expect([...failed.keys()]).toContain("it is stopped while all its calls are under way");
    const stays = plugin(() => ({ stop: () => new Promise<void>(() => {}) }));
    expect([...new Set((await failures({ plugin: stays, endMs: 20 })).values())]).toEqual(["stop took longer than 20 ms"]);
    const starts = plugin((ctx) => ({ start: async () => void (await ctx.fetch("https://platform/")) }));
    expect(await names({ plugin: starts })).toEqual(["it is stopped before its start has ended, and without a start"]);
  });

  it("finds a send that fails without saying how", async () => {
    const vague = plugin((ctx) => {
      ctx.provide.channel({
        name: "vague",
        traits: { maxChars: 100, unit: "utf16", dialect: "plain" },
        async send(_out, signal) {
          return { platformId: JSON.parse((await ctx.fetch("https://platform/", { signal })).text()).id.toString() };
        },
      });
    });
    const failed = await failures({ plugin: vague });
    expect([...failed.keys()].filter(isFarEnd).length).toBeGreaterThan(5);
    expect(failed.get("its far end answers null: each call ends, and fails as it should")).toContain("channelError");
  });

  it("finds unhandled errors, and a secret in an error or the log", async () => {
    const careless = plugin((ctx) => {
      ctx.provide.tool({
        name: "careless",
        description: "c",
        input: { type: "object" },
        async run() {
          void Promise.reject(new Error("nobody hears this"));
          return "fine";
        },
      });
      ctx.log.info(`my token is ${ctx.config.token}`);
    });
    const failed = await failures({ plugin: careless, config: { token: "a-secret-token" } });
    expect([...failed.values()]).toContainEqual(expect.stringContaining("unhandled errors behind"));
    expect([
      ...(await failures({ plugin: plugin((ctx) => ctx.log.info(`my token is ${ctx.config.token}`)), config: { token: "a-secret-token" } })).values(),
    ]).toContainEqual("its log shows a secret of its section");
    const tells = plugin((ctx) => {
      ctx.provide.tool({
        name: "tells",
        description: "t",
        input: { type: "object" },
        async run() {
          throw new Error(`refused: ${ctx.config.token}`);
        },
      });
    });
    expect([...(await failures({ plugin: tells, config: { token: "a-secret-token" } })).values()]).toContain(
      "the error of tool tells shows a secret of its section",
    );
  });

  it("finds state that is shared by all of them, or left over from the last", async () => {
    const seen: string[] = [];
    const remembers = plugin((ctx) => {
      seen.push("once");
      if (seen.length % 2 === 0) ctx.hooks.inbound.tap(() => undefined);
    });
    expect(await names({ plugin: remembers })).toContain("it is loaded and ended ten times in a row");
    let shared: { down(reason: string): void } | undefined;
    const twins = plugin((ctx) => {
      shared = ctx.provide.channel({
        name: "twins",
        traits: { maxChars: 100, unit: "utf16", dialect: "plain" },
        send: async () => ({ platformId: "1" }),
      });
      return { stop: async () => shared?.down("stopped") };
    });
    expect(await names({ plugin: twins })).toEqual(["it is there twice: what one does or ends leaves the other alone"]);
  });

  it("finds a section that passes its schema and throws what is no error", async () => {
    const strings = plugin((ctx) => {
      if (!URL.canParse(ctx.config.word ?? "")) throw "no address";
    });
    const failed = await failures({ plugin: strings, config: { word: "https://platform" } });
    expect([...failed]).toEqual([["its section is changed to any other that passes its schema", "with another word it threw something that is not an error"]]);
  });

  it("finds a capability that is not declared", async () => {
    const undeclared = plugin((ctx) => {
      ctx.provide.tool({ name: "asks", description: "a", input: { type: "object" }, run: async () => String(ctx.tasks.running().length) });
    });
    expect([...(await failures({ plugin: undeclared })).values()][0]).toContain("uses 'tasks' without declaring it");
  });
});

describe("AUT-A4 far ends of sockets", () => {
  const reported = (capabilities: Plugin["capabilities"]) => {
    const all: string[] = [];
    tortureContract({ describe: (_name, define) => define(), it: (name) => all.push(name) }, { plugin: plugin(() => ({}), { capabilities }) });
    return all.filter(isFarEnd);
  };

  it("AUT-A4 the report says where the far-end cases met no far end", () => {
    expect(reported(["fetch"]).some((name) => name.includes("("))).toBe(false);
    expect(reported(["tasks", "events"]).every((name) => name.includes("it meets none"))).toBe(true);
    expect(reported(["fetch", "network"]).every((name) => name.includes("its own connections, capability network, do not meet it"))).toBe(true);
  });

  const line = (send: (ctx: PluginContext<never>, signal: AbortSignal) => Promise<string>) =>
    plugin(
      (ctx) => {
        ctx.provide.channel({
          name: "line",
          traits: { maxChars: 100, unit: "utf16", dialect: "plain" },
          async send(_out, signal) {
            try {
              if ((await send(ctx as never, signal)).trim() !== "ok") throw channelError("retry", "it answered something else");
            } catch (error) {
              throw channelError("unknown", (error as Error).message);
            }
            return {};
          },
        });
      },
      { capabilities: ["sockets"] },
    );
  const host = { host: "irc.example.org", port: 6697 };

  it("AUT-A4 leaves one alone that hears its signal on its socket and its WebSocket", async () => {
    const careful = line(async (ctx, signal) => {
      const socket = await ctx.sockets.connect({ ...host, signal });
      socket.write("hello");
      for await (const piece of socket) return String(piece);
      return "";
    });
    expect(await names({ plugin: careful })).toEqual([]);
    const gateway = line(async (ctx, signal) => {
      const socket = await ctx.sockets.webSocket("wss://gateway.example.org", { signal });
      await socket.send("hello");
      for await (const message of socket.messages) return String(message);
      return "";
    });
    expect(await names({ plugin: gateway })).toEqual([]);
  });

  it("AUT-A4 finds one that waits for its far end without hearing its signal", async () => {
    const deaf = line(async (ctx) => String((await ctx.sockets.connect(host)).read()));
    expect(await names({ plugin: deaf })).toContain("its far end never answers: each call ends, and fails as it should");
  });
});
