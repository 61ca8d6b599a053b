import { choiceData } from "@svc/sdk";
import { describe, expect, it } from "vitest";
import { heardOf, usedOf } from "./map.ts";
import { GUILD_MARKUP, shownAsIs } from "./markup.ts";
import type { Place } from "./places.ts";
import { agentMeant, whyNot } from "./policy.ts";
import { checkSection, whyDeaf } from "./settings.ts";
import type { WireInteraction, WireMessage, WireUser } from "./wire.ts";

const ME: WireUser = { id: "42000", username: "helper", bot: true };
const ADA: WireUser = { id: "70000", username: "ada_b", global_name: "Ada" };
const OTHER: WireUser = { id: "80000", username: "robo", bot: true };
const ROLE = "55000";
const GENERAL: Place = { id: "10000", guild: "1000", name: "general" };
const THREAD: Place = { id: "20000", guild: "1000", parent: "10000", name: "plans" };
const DIRECT: Place = { id: "30000", direct: true };
const around = (place: Place = GENERAL) => ({ me: ME, place, guildName: "The Garden", role: ROLE });
const post = (content: string, more: Partial<WireMessage> = {}): WireMessage => ({ id: "999000", type: 0, channel_id: "10000", author: ADA, content, ...more });
const heard = (content: string, more: Partial<WireMessage> = {}, place?: Place) => heardOf(post(content, more), around(place));

describe("what a message says", () => {
  it("in a channel, a thread, and directly", () => {
    expect(heard("hi")?.message).toEqual({
      entry: "channel",
      channel: "guildchat",
      chat: "10000",
      facts: { chatTitle: "#general (The Garden)" },
      sender: { id: "70000", name: "Ada", handle: "ada_b" },
      text: "hi",
      platformId: "999000",
      dedupKey: "999000",
    });
    expect(heard("hi", {}, THREAD)?.message).toMatchObject({ chat: "10000", thread: "20000" });
    expect(heardOf(post("hi"), { me: ME, place: DIRECT })).toMatchObject({ addressed: true, message: { chat: "30000", direct: true } });
  });

  it("a mention by name, by nickname, or by the role of the bot means it; the sign at the beginning is left out", () => {
    for (const sign of ["<@42000>", "<@!42000>", "<@&55000>"]) {
      expect(heard(`${sign}, please look`), sign).toMatchObject({ addressed: true, named: true, message: { text: "please look", mentions: ["helper"] } });
    }
    expect(heard("ask <@42000> and <@70000>", { mentions: [ADA] })?.message.text).toBe("ask @helper and @ada_b");
  });

  it("in code a name means nobody", () => {
    expect(heard("`<@42000>` is how it is written")?.addressed).toBe(false);
    expect(heard("```\n<@42000>\n``` is a block, <@420001> is somebody else")?.addressed).toBe(false);
    expect(heard("```\n<@42000> in a block that never ends")?.addressed).toBe(false);
  });

  it("who answers the bot means it; a bot that does calls nobody", () => {
    const answer = { type: 19, message_reference: { message_id: "5" }, mentions: [ME], referenced_message: post("earlier", { id: "500", author: ME }) };
    expect(heard("and then?", answer)).toMatchObject({ addressed: true, named: false, message: { replyTo: { platformId: "500", text: "earlier" } } });
    expect(heard("and then?", { ...answer, author: OTHER })).toMatchObject({ addressed: false, bot: true });
    expect(heard("and then?", { ...answer, referenced_message: null })?.message.replyTo).toEqual({ platformId: "5" });
  });

  it("its own messages, notes of the platform and empty ones are none", () => {
    expect(heard("mine", { author: ME })).toBeUndefined();
    expect(heard("", { type: 7 })).toBeUndefined();
    expect(heard("pinned", { type: 6 })).toBeUndefined();
    expect(heard("  ")).toBeUndefined();
    expect(heard("<@42000>")?.message.text).toBe("@helper");
  });

  it("files, by kind, with a handle that says where they are", () => {
    const attachments = [
      { id: "111", filename: "a.png", size: 3, url: "https://cdn.example/a.png?ex=1", content_type: "image/png" },
      { id: "112", filename: "b.txt", size: 4, url: "https://cdn.example/b.txt?ex=1", content_type: "text/plain; charset=utf-8" },
    ];
    expect(heard("", { attachments })?.message.media).toEqual([
      { kind: "image", handle: "10000/999000/111 https://cdn.example/a.png?ex=1", name: "a.png", type: "image/png", size: 3 },
      { kind: "file", handle: "10000/999000/112 https://cdn.example/b.txt?ex=1", name: "b.txt", type: "text/plain", size: 4 },
    ]);
  });

  it("what no message can be is refused without harm", () => {
    for (const broken of [{ author: undefined }, { content: undefined }, { content: 7 }, { attachments: "x" }, { mentions: null }])
      expect(() => heard("x", broken as never)).not.toThrow();
    expect(heard("`".repeat(200_000))?.message.text.length).toBe(10_000);
  });
});

describe("buttons and commands", () => {
  const delivery = "out_0b2a4a0e-6a0e-4c56-9f0e-0123456789ab";
  const press: WireInteraction = {
    id: "888000",
    token: "t",
    application_id: "42000",
    type: 3,
    channel_id: "10000",
    member: { user: ADA, roles: ["9"] },
    message: { ...post("Shall I?", { author: ME }), components: [{ components: [{ custom_id: choiceData(delivery, "yes"), label: "Yes" }] }] },
    data: { custom_id: choiceData(delivery, "yes") },
  };

  it("a press is the choice of who pressed it", () => {
    expect(usedOf(press, around())).toMatchObject({
      addressed: true,
      roles: ["9"],
      message: { text: "Yes", choice: { delivery, id: "yes" }, platformId: "999000", dedupKey: "888000", sender: { id: "70000" } },
    });
    expect(usedOf({ ...press, data: { custom_id: "of somebody else" } }, around())).toBeUndefined();
  });

  it("a button of an answer is its label, said by who pressed it; one that the message does not show is nothing", () => {
    const said = { ...press, message: { ...post("Tea?", { author: ME }), components: [{ components: [{ custom_id: "say:0", label: "With milk" }] }] } };
    const { message } = usedOf({ ...said, data: { custom_id: "say:0" } }, around()) ?? {};
    expect(message).toMatchObject({ text: "With milk", dedupKey: "888000", sender: { id: "70000" } });
    expect(message).not.toHaveProperty("choice");
    expect(usedOf({ ...said, data: { custom_id: "say:7" } }, around())).toBeUndefined();
  });

  it("/ask is its text; another command is nothing", () => {
    const ask: WireInteraction = { ...press, type: 2, data: { name: "ask", options: [{ name: "text", value: " what now? " }] } };
    const { message: _post, ...alone } = ask;
    expect(usedOf(alone, around())?.message).toMatchObject({ text: "what now?", mentions: ["helper"] });
    expect(usedOf(alone, around())?.message).not.toHaveProperty("platformId");
    expect(usedOf({ ...alone, data: { name: "other" } }, around())).toBeUndefined();
  });
});

describe("who is heard", () => {
  const nobody = async () => [];
  const judged = (content: string, section: object, more: Partial<WireMessage> = {}, place?: Place, roles: () => Promise<readonly string[]> = nobody) => {
    const one = heard(content, more, place);
    return one === undefined ? Promise.resolve("nothing") : whyNot(one, section, roles);
  };
  const toBot = "<@42000> hi";

  it("CHAN-01 guildchat without a list nobody, and the reason names the id to list", async () => {
    for (const section of [{}, { allowFrom: [] }]) expect(await judged(toBot, section)).toBe("no allowFrom list is set (the sender is 70000)");
    expect(whyDeaf({})).toContain("hears nobody");
    expect(whyDeaf({ allowFrom: ["70000"] })).toBeUndefined();
  });

  it("CHAN-01 guildchat by the id of the person, a role, the guild or the channel; another one is not", async () => {
    for (const entry of ["70000", "role:77", "guild:1000", "channel:10000"])
      expect(await judged(toBot, { allowFrom: [entry] }, { member: { roles: ["77"] } }), entry).toBeUndefined();
    for (const entry of ["70001", "role:78", "guild:1001", "channel:10001", "1000", "10000"])
      expect(await judged(toBot, { allowFrom: [entry] }, { member: { roles: ["77"] } }), entry).toBe("the sender 70000 is not in allowFrom");
    expect(await judged(toBot, { allowFrom: ["channel:10000"] }, {}, THREAD)).toBeUndefined();
    expect(await judged(toBot, { allowFrom: ["channel:20000"] }, {}, THREAD)).toBeUndefined();
  });

  it("CHAN-01 guildchat roles are asked for where a message does not name them, as one of a history", async () => {
    expect(await judged(toBot, { allowFrom: ["role:77"] }, {}, GENERAL, async () => ["77"])).toBeUndefined();
  });

  it("CHAN-02 guildchat a message in a guild must mean the bot, unless all are taken", async () => {
    expect(await judged("just talking", { allowFrom: ["70000"] })).toBe("the bot is not mentioned");
    expect(await judged("just talking", { allowFrom: ["70000"], group: "all" })).toBeUndefined();
  });

  it("CHAN-02 guildchat direct messages are for people who are listed themselves, and can be blocked", async () => {
    expect(await judged("hi", { allowFrom: ["guild:1000", "role:1"] }, {}, DIRECT)).toBe("the sender 70000 is not in allowFrom");
    expect(await judged("hi", { allowFrom: ["70000"] }, {}, DIRECT)).toBeUndefined();
    expect(await judged("hi", { allowFrom: ["70000"], dm: "block" }, {}, DIRECT)).toBe("direct messages are blocked");
  });

  it("a bot is heard by its own id only, and when it names this one in its words", async () => {
    const robo = { author: OTHER };
    expect(await judged(toBot, { allowFrom: ["guild:1000"] }, robo)).toBe("the sender 80000 is a bot that is not in allowFrom");
    expect(await judged("talking", { allowFrom: ["80000"], group: "all" }, robo)).toBe("a bot must name this bot");
    expect(await judged(toBot, { allowFrom: ["80000"] }, robo)).toBeUndefined();
    expect(await judged(toBot, { allowFrom: ["guild:1000"] }, { ...robo, author: { ...OTHER, bot: false }, webhook_id: "3" })).toContain("is a bot");
  });

  it("another agent that is named works on it, unless the bot itself is named", () => {
    const agents = [{ id: "ben", mentions: ["@Ben"] }] as never;
    expect(agentMeant(heard("@ben please") as never, "anna", agents)).toBe("ben");
    expect(agentMeant(heard("<@42000> and @ben") as never, "anna", agents)).toBe("anna");
    expect(agentMeant(heard("`@ben`") as never, "anna", agents)).toBe("anna");
  });

  it("FAULT-58 guildchat full-width, zero-width and right-to-left signs do not hide a name; a look-alike letter is another one", () => {
    const agents = [{ id: "ben", mentions: ["ben"] }] as never;
    for (const text of ["\uFF20ben 1", "@b\u200Ben 2", "\u202E@ben 3", "@\uFF42en 4"])
      expect(agentMeant(heard(text) as never, "anna", agents), text).toBe("ben");
    expect(agentMeant(heard("@b\u0435n") as never, "anna", agents)).toBe("anna");
  });
});

describe("the section", () => {
  const agents = ["anna"];
  it("says what is missing, and that nobody is heard", () => {
    expect(checkSection({ enabled: true }, { agents }).map(({ path, severity = "warning" }) => [path, severity])).toEqual([
      ["token", "error"],
      ["agentBinding", "error"],
      ["allowFrom", "warning"],
    ]);
    expect(checkSection({ enabled: true, token: "t", agentBinding: "anna", allowFrom: ["70000"] }, { agents })).toEqual([]);
    expect(checkSection({ enabled: false }, { agents })).toEqual([]);
  });
});

describe("words without markup", () => {
  it("signs are shown as they are", () => {
    expect(shownAsIs("a *b* _c_ <@1> `d`\n# e\n- f")).toBe("a \\*b\\* \\_c\\_ \\<@1> \\`d\\`\n\\# e\n\\- f");
    expect(GUILD_MARKUP.bold).toBe("**{}**");
  });
});
