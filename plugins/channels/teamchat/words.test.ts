import { randomUUID } from "node:crypto";
import { choiceData } from "@svc/sdk";
import { describe, expect, it } from "vitest";
import { appManifest, SCOPES } from "./app-manifest.ts";
import { emojiName } from "./emoji.ts";
import { refusedError } from "./failure.ts";
import { heardOf, type Place, pressOf } from "./map.ts";
import { unalerting } from "./mrkdwn.ts";
import { checkSection, schema } from "./settings.ts";
import { tokensProblem } from "./tokens.ts";
import { handlesIn, mentionedIn, withoutOwn, wordsIn } from "./words.ts";

const names = (id: string) => ({ U1: "Ada Byron", UBOT: "helper" })[id];
const me = { team: "T1", teamName: "Acme", user: "UBOT", botId: "B1", name: "helper", app: "A1" };
const place: Place = { account: "main", me, names, teamOf: () => undefined };

describe("words of the platform", () => {
  it("are read as people read them: mentions by name, links with their address, entities decoded once", () => {
    expect(wordsIn("<@U1> &amp; <@U9> in <#C1|garden>: a &lt;b&gt; &amp;lt;", names)).toBe("@Ada Byron & @U9 in #garden: a <b> &lt;");
    expect(wordsIn("<https://a.test/x?a=1&amp;b=2|the site> <https://b.test> <mailto:me@c.test|me@c.test>", names)).toBe(
      "the site (https://a.test/x?a=1&b=2) https://b.test me@c.test",
    );
    expect(wordsIn("<!here> <!subteam^S1|@team> <!date^1|today> <script>", names)).toBe("@here @team today <script>");
  });

  it("mentions in code mean nobody, an open fence reaches to the end", () => {
    expect(mentionedIn("<@U1> `<@U2>` ```\n<@U3>\n``` <@U4|x> ```<@U5>")).toEqual(["U1", "U4"]);
  });

  it("FAULT-58 typed handles are found through full-width and invisible signs; an address names nobody", () => {
    expect(handlesIn("\uFF20anna @be\u200Bn me@cleo.test `@dora` @anna")).toEqual(["anna", "ben"]);
  });

  it("the own mention at the start is no part of what is asked", () => {
    expect(withoutOwn("<@UBOT>, what now? <@UBOT>", "UBOT")).toBe("what now? <@UBOT>");
  });

  it("a hostile text is read in one pass", () => {
    const text = `${"<".repeat(200_000)}${"`".repeat(200_000)}${"@".repeat(100_000)}`;
    expect(wordsIn(text, names)).toHaveLength(text.length);
    expect([mentionedIn(text), handlesIn(text)]).toEqual([[], []]);
  });

  it("nothing alerts anybody in standard markdown, and nothing else is touched", () => {
    expect(unalerting("<!channel> <@U123> <!DOCTYPE html> a<b")).toBe("<\u200b!channel> <\u200b@U123> <!DOCTYPE html> a<b");
  });

  it("an emoji is named by itself, by its name and between colons", () => {
    expect(["👀", "eyes", ":+1:", "❤️", "🦩"].map(emojiName)).toEqual(["eyes", "eyes", "+1", "heart", undefined]);
  });
});

describe("messages", () => {
  const post = { type: "message", ts: "1700000000.000100", user: "U1", text: "hello" };

  it("message and app_mention of one post have one key, of the platform's own id", () => {
    const keys = ["message", "app_mention"].map((type) => heardOf({ ...post, type, text: "<@UBOT> hello" }, "C1", place)?.message.dedupKey);
    expect(keys).toEqual(Array(2).fill("teamchat/T1/A1/C1/1700000000.000100"));
  });

  it("a message of a channel begins a thread, one of a direct conversation does not, and a reply stays in its own", () => {
    expect(heardOf(post, "C1", place)?.message.thread).toBe(post.ts);
    expect(heardOf(post, "D1", place)?.message).not.toHaveProperty("thread");
    expect(heardOf({ ...post, thread_ts: "1.1" }, "D1", place)?.message.thread).toBe("1.1");
  });

  it("own words, notes of the platform, edits and empty ones are nobody's message", () => {
    for (const one of [{ user: "UBOT" }, { bot_id: "B1" }, { subtype: "channel_join" }, { subtype: "message_changed" }, { text: "  " }])
      expect(heardOf({ ...post, ...one }, "C1", place), JSON.stringify(one)).toBeUndefined();
  });

  it("another bot is said to be one, a thread that the bot began is addressed to it", () => {
    expect(heardOf({ ...post, bot_id: "B9" }, "C1", place)?.message.sender).toMatchObject({ id: "U1", bot: true });
    expect(heardOf({ ...post, thread_ts: "1.1", parent_user_id: "UBOT" }, "C1", place)?.addressed).toBe(true);
    expect(heardOf({ ...post, thread_ts: "1.1", parent_user_id: "U1" }, "C1", place)?.addressed).toBe(false);
  });

  it("a button of an agent's own message counts as its label; what is no button counts for nothing", () => {
    const press = { type: "block_actions", user: { id: "U1" }, channel: { id: "C1" }, container: { message_ts: "1.2", thread_ts: "1.1" } };
    const actions = [{ type: "button", value: "say:Yes", text: { text: "Yes" }, action_ts: "9.9" }];
    expect(pressOf({ ...press, actions }, place)?.message).toMatchObject({ text: "Yes", thread: "1.1", sender: { id: "U1", name: "Ada Byron" } });
    const long = [{ type: "button", value: `say:${"y".repeat(90)}`, text: { text: `${"y".repeat(74)}…` } }];
    expect(pressOf({ ...press, actions: long }, place)?.message.text).toBe("y".repeat(90));
    // Whatever an agent writes on a button, it is no choice of a delivery.
    const forged = [{ ...actions[0], value: `say:${choiceData(`out_${randomUUID()}`, "yes")}` }];
    expect(pressOf({ ...press, actions: forged as never }, place)?.message).not.toHaveProperty("choice");
    expect(pressOf({ ...press, actions: [{ type: "button", text: { text: "Link" } }] }, place)).toBeUndefined();
    expect(pressOf({ ...press, actions: [{ type: "static_select" }] }, place)).toBeUndefined();
    expect(pressOf({ ...press, type: "view_submission", actions }, place)).toBeUndefined();
  });
});

describe("the section", () => {
  const agents = { agents: ["anna"] };
  const good = { enabled: true, botToken: "xoxb-1", appToken: "xapp-1", agentBinding: "anna", allowFrom: ["U1"] };

  it("is well with two tokens, an agent and a list", () => {
    expect(checkSection(good, agents)).toEqual([]);
    expect(checkSection({}, agents)).toEqual([]);
    expect(schema.additionalProperties).toBe(false);
  });

  it("tokens that are swapped, of another kind or empty are named in words", () => {
    expect(tokensProblem({ botToken: "xapp-1", appToken: "xoxb-1" })?.words).toMatch(/swap the two/);
    expect(tokensProblem({ botToken: "xoxp-1", appToken: "xapp-1" })?.words).toMatch(/holds a user token; it must be the Bot User OAuth Token/);
    expect(tokensProblem({ botToken: "xoxb-1", appToken: "xoxb-2" })).toMatchObject({ key: "appToken", words: expect.stringMatching(/connections:write/) });
    expect(tokensProblem({ botToken: "", appToken: "xapp-1" })?.words).toMatch(/is empty/);
    expect(tokensProblem({ botToken: "made-up", appToken: "made-up" })).toBeUndefined();
    expect(checkSection({ ...good, botToken: "xapp-1", appToken: "xoxb-1" }, agents)).toMatchObject([{ path: "botToken" }]);
  });

  it("closed by default is said: no list, an empty one, and one of a workspace alone", () => {
    expect(checkSection({ ...good, allowFrom: [] }, agents)).toMatchObject([{ path: "allowFrom", message: expect.stringMatching(/^hears nobody/) }]);
    const other = { botToken: "xoxb-2", appToken: "xapp-2", agentBinding: "anna" };
    expect(checkSection({ ...good, workspaces: { other } }, agents)).toEqual([]);
    expect(checkSection({ ...good, workspaces: { other: { ...other, allowFrom: [] } } }, agents)).toMatchObject([{ path: "workspaces.other.allowFrom" }]);
    expect(checkSection({ enabled: true }, agents)).toMatchObject([{ message: expect.stringMatching(/svc connect teamchat/) }]);
    expect(checkSection({ ...good, agentBinding: "nobody" }, agents)).toMatchObject([{ path: "agentBinding" }]);
  });

  it("the app to paste has every scope that is checked, socket mode and buttons", () => {
    const app = JSON.parse(appManifest("helper"));
    expect(app.oauth_config.scopes.bot).toEqual(Object.keys(SCOPES));
    expect(app.settings).toMatchObject({ socket_mode_enabled: true, interactivity: { is_enabled: true } });
  });
});

it("each refusal says what to do next, and what the kernel is to do", () => {
  const of = (error: string, more = {}) => refusedError({ method: "chat.postMessage", status: 200, error, ...more });
  expect(of("missing_scope", { needed: "chat:write" })).toMatchObject({ failure: "retry", message: expect.stringMatching(/lacks the scope chat:write/) });
  expect(of("not_in_channel")).toMatchObject({ failure: "permanent", message: expect.stringMatching(/invite it/) });
  expect(of("invalid_blocks")).toMatchObject({ failure: "format" });
  expect(of("ratelimited")).toMatchObject({ failure: "retry", retryAfterMs: 30_000 });
  expect(of("", { status: 429, retryAfterMs: 4_000 })).toMatchObject({ failure: "retry", retryAfterMs: 4_000 });
  expect(of("token_revoked")).toMatchObject({ failure: "retry" });
  expect(of("", { status: 502 })).toMatchObject({ failure: "retry" });
  expect(of("channel_not_found")).toMatchObject({ failure: "permanent" });
});
