import { type ChoiceButton, choiceOf, definePlugin, type Plugin, type PluginContext } from "@svc/sdk";
import { describe, expect, it } from "vitest";
import { jpeg } from "../../plugins/features/calls/calls.harness.ts";
import { OFFER } from "../kit/call-offer.ts";
import { bearer, guarded } from "./auth.harness.ts";
import { type Ask, askJudged, FIRST_PARTY, JUDGED_APART } from "./openapi-answers.harness.ts";

const config = {
  channels: {
    webrtc: {
      enabled: true,
      stunServers: ["stun:127.0.0.1:9"],
      hostAddresses: ["127.0.0.1"],
      bot: { enabled: true },
      ringNotify: [{ channel: "mail", chatId: "1" }],
    },
  },
  calls: { allow: ["foo"] },
};

const CANDIDATE = { candidate: "candidate:1 1 udp 2130706431 127.0.0.1 9 typ host", sdpMid: "0", sdpMLineIndex: 0 };

/** A chat of a person who rings hear. */
function createMail() {
  const sent: string[] = [];
  let button: ChoiceButton | undefined;
  let tasks: PluginContext["tasks"] | undefined;
  const plugin = definePlugin({
    kind: "channel",
    name: "mail",
    version: "1.0.0",
    svc: ">=0.1.0",
    capabilities: ["tasks"],
    setup(ctx) {
      const traits = { maxChars: 2_000, unit: "utf16", dialect: "plain", choices: true } as const;
      const channel = ctx.provide.channel({
        name: "mail",
        traits,
        async send({ text, choices }) {
          sent.push(text);
          button = choices?.[0] ?? button;
          return { platformId: String(sent.length) };
        },
      });
      tasks = ctx.tasks;
      return { start: async () => channel.ready() };
    },
  }) as Plugin<never>;
  /** The person presses the first button. */
  const press = async () => {
    const choice = button === undefined ? undefined : choiceOf(button.data);
    if (choice !== undefined) await tasks?.accept({ entry: "mail", channel: "mail", chat: "1", text: "", sender: { id: "ann" }, choice });
    return choice !== undefined;
  };
  return { plugin, sent, press };
}

/** Places one and joins it as its page. */
async function joined(ask: Ask, mail: ReturnType<typeof createMail>, kind: "call" | "camera") {
  const { call, ...placed } = (await ask("POST", "/calls", { kind, agent: "foo", to: kind === "call" ? "foo" : "mail", why: "to ask" })) as {
    call: { id: string };
    url?: string;
  };
  const at = `/calls/${call.id}`;
  const link = () => mail.sent.find((text) => text.includes("#"));
  if (kind === "camera") {
    await expect.poll(mail.press, { timeout: 20_000 }).toBe(true);
    await expect.poll(() => link() ?? mail.sent, { timeout: 5_000 }).toContain("#");
  }
  const url = placed.url ?? link() ?? "";
  const { bearer: secret } = (await ask("POST", `${at}/join`, { code: /#(\S+)/.exec(url)?.[1] })) as { bearer: string };
  const page: Ask = (method, name, body, headers) => ask(method, `${at}/${name}`, body, { ...bearer(secret), ...headers });
  return { at, id: call.id, page };
}

describe("answers of the routes of calls are those that GET /openapi.json names", { timeout: 120_000 }, () => {
  it("of those who place them, and of their pages", async () => {
    const mail = createMail();
    const at = await guarded({ config, plugins: [mail.plugin], options: { known: FIRST_PARTY } });
    const asking = await askJudged(at, { daemon: at.daemon }, JUDGED_APART.calls);
    const ask = asking.on("daemon");
    const one = await joined(ask, mail, "call");
    for (const path of ["/calls", "/calls?all=true", one.at, "/calls/none", `/call/${one.id}`, `/camera/${one.id}`, "/call-page/call.js"])
      await ask("GET", path);
    await ask("POST", "/calls", { to: "nobody" });
    await ask("POST", `${one.at}/join`, { code: "another" });
    await ask("POST", `${one.at}/answer`, { offer: OFFER });
    await one.page("GET", "media");
    await one.page("POST", "answer", { offer: "none" });
    await one.page("POST", "answer", { offer: OFFER });
    await one.page("POST", "answer", { offer: OFFER });
    await one.page("POST", "restart", { offer: OFFER });
    await one.page("POST", "restart", { offer: OFFER.replace("abcd", "efgh").replace(/ice-pwd:a+/, `ice-pwd:${"b".repeat(24)}`) });
    for (const candidate of [CANDIDATE, null]) await one.page("POST", "candidate", { candidate });
    const stream = one.page("GET", "stream");
    await one.page("POST", "end", {});
    await stream;
    await ask("POST", `${one.at}/end`, {});
    await one.page("POST", "end", {});
    const camera = await joined(ask, mail, "camera");
    await camera.page("GET", "media");
    await camera.page("POST", "answer", {});
    const { frame } = await ask("POST", `${camera.at}/ask`);
    await camera.page("POST", `frame?n=${frame}`, jpeg(640, 480), { "content-type": "image/jpeg" });
    await camera.page("POST", "frame?n=99", "none", { "content-type": "image/jpeg" });
    await camera.page("POST", "end", {});
    await ask("GET", camera.at);
    expect(asking.wrong).toEqual([]);
    expect(asking.unasked()).toEqual([]);
  });
});
