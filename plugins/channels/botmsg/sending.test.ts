import { describe, expect, it } from "vitest";
import { FRIEND } from "./bot-api.harness.ts";
import { GROUP, TOKEN, until } from "./botmsg.harness.ts";
import { ADA, channelOf, heard, out, reasons, send, stage } from "./stages.harness.ts";

describe("what goes out", () => {
  it("markdown becomes the platform's own markup, and an edit replaces it", async () => {
    const one = await stage();
    const { platformId = "none" } = await send(one, out("a **bold** <word>"));
    expect(one.api.shown.at(-1)).toMatchObject({ text: "a bold <word>", html: "a <b>bold</b> &lt;word&gt;" });
    await channelOf(one).edit?.(platformId, out("**all** new"), new AbortController().signal);
    expect(one.api.shown).toHaveLength(1);
    expect(one.api.shown[0]).toMatchObject({ text: "all new" });
  });

  it("buttons: a press says the label, as a message of the one who pressed", async () => {
    const one = await stage();
    await send(one, out("Shall I?\n\n```buttons\n[Yes] [No]\n[Read](https://example.org/a)\n```"));
    const shown = one.api.shown.at(-1)!;
    expect(shown).toMatchObject({
      text: "Shall I?",
      markup: {
        inline_keyboard: [
          [
            { text: "Yes", callback_data: "0.0" },
            { text: "No", callback_data: "0.1" },
          ],
          [{ text: "Read", url: "https://example.org/a" }],
        ],
      },
    });
    one.api.press(TOKEN, { from: FRIEND, message: shown.id, data: "0.1" });
    await heard(one, 1);
    expect(one.context.tasks.accepted[0]).toMatchObject({ text: "No", sender: { id: "700" }, platformId: String(shown.id) });
    await until(() => one.api.calls.some(({ method }) => method === "answerCallbackQuery"));
  });

  it("a press is judged like a message", async () => {
    const one = await stage();
    await send(one, out("Shall I?\n\n```buttons\n[Yes]\n```", { target: { channel: "botmsg", account: "main", chat: String(GROUP) } }));
    one.api.press(TOKEN, { from: { id: 5, is_bot: false, first_name: "X" }, message: one.api.shown.at(-1)!.id, data: "0.0" });
    await heard(one, 1);
    expect(reasons(one)).toEqual(["the sender 5 is not in allowFrom"]);
  });

  it("a poll is asked once, also when the answer grows by edits or is sent again", async () => {
    const one = await stage();
    const answer = out("Vote:\n\n```poll\nWhere to?\n- Pizza\n- Sushi\n```");
    const { platformId = "none" } = await send(one, { ...answer, text: "Vote:\n\n```poll\nWhere to?\n- Piz" });
    expect(one.api.shown).toMatchObject([{ text: "Vote:" }]);
    for (let n = 0; n < 2; n += 1) await channelOf(one).edit?.(platformId, answer, new AbortController().signal);
    expect(one.api.shown.map(({ text, poll }) => poll ?? text)).toEqual(["Vote:", { question: "Where to?", options: ["Pizza", "Sushi"] }]);
  });

  it("a poll that the platform throttles is asked when its time has come, and the words before it are not said twice", async () => {
    const one = await stage();
    const answer = out("Vote:\n\n```poll\nWhere to?\n- Pizza\n- Sushi\n```");
    one.api.fault = ({ method }) => (method === "sendPoll" ? { code: 429, description: "Too Many Requests", parameters: { retry_after: 3 } } : undefined);
    await expect(send(one, answer)).rejects.toMatchObject({ failure: "retry", retryAfterMs: 3_000 });
    one.api.fault = () => undefined;
    const { platformId } = await send(one, answer);
    expect(one.api.shown.map(({ text, poll }) => poll?.question ?? text)).toEqual(["Vote:", "Where to?"]);
    expect(platformId).toBe(String(one.api.shown[0]?.id));
  });

  it("a poll that a chat does not allow costs none of the words", async () => {
    const one = await stage();
    one.api.fault = ({ method }) =>
      method === "sendPoll" ? { code: 400, description: "Bad Request: not enough rights to send polls to the chat" } : undefined;
    const answer = out("Vote:\n\n```poll\nWhere to?\n- Pizza\n- Sushi\n```");
    await expect(send(one, answer)).rejects.toMatchObject({ failure: "format" });
    await send(one, { ...answer, text: answer.plain });
    expect(one.api.shown.map(({ text }) => text)).toEqual([answer.plain.trim()]);
  });

  it("a button whose address the platform refuses is told as a matter of form: the words arrive without markup", async () => {
    const one = await stage();
    const answer = out("Look:\n\n```buttons\n[Open](http://localhost:3000/a)\n```");
    await expect(send(one, answer)).rejects.toMatchObject({ failure: "format", message: expect.stringContaining("Wrong HTTP URL") });
    await send(one, { ...answer, text: answer.plain });
    expect(one.api.shown.map(({ text }) => text)).toEqual([answer.plain.trim()]);
  });

  it("a picture that the platform takes for no photo goes as a file", async () => {
    for (const description of [
      "Bad Request: PHOTO_INVALID_DIMENSIONS",
      "Bad Request: IMAGE_PROCESS_FAILED",
      "Bad Request: file of size 12000000 bytes is too big for a photo; the maximum size is 10485760 bytes",
    ]) {
      const one = await stage();
      one.api.fault = ({ method }) => (method === "sendPhoto" ? { code: 400, description } : undefined);
      await send(one, out("", { media: [{ kind: "image", name: "page.png", data: new Uint8Array([1, 2]) }] }));
      expect(one.api.shown.map(({ file }) => [file?.method, file?.name])).toEqual([["sendDocument", "page.png"]]);
    }
  });

  it("CHAN-07 richMessages: false sends plain text only", async () => {
    const one = await stage({ agents: [{ id: "anna", settings: { richMessages: false } }] });
    await send(one, out("a **bold** word\n```buttons\n[Yes]\n```", { plain: "a bold word\n[Yes]" }));
    expect(one.api.shown.at(-1)).toEqual({ id: expect.any(Number), chat: ADA, from: "helper_bot", text: "a bold word\n[Yes]" });
  });

  it("each kind of file goes by its own way, one that is there already by its id", async () => {
    const one = await stage();
    one.api.addFile("AAAA", new Uint8Array([1]));
    const data = new Uint8Array([1, 2, 3]);
    for (const kind of ["image", "audio", "video", "file"] as const) await send(one, out("", { media: [{ kind, name: `a.${kind}`, data }] }));
    await send(one, out("", { media: [{ kind: "file", handle: "main/AAAA" }] }));
    expect(one.api.shown.map(({ file }) => [file?.method, file?.name])).toEqual([
      ["sendPhoto", "a.image"],
      ["sendAudio", "a.audio"],
      ["sendVideo", "a.video"],
      ["sendDocument", "a.file"],
      ["sendDocument", ""],
    ]);
  });

  it("FAULT-34 a chat that is not there is a permanent failure", async () => {
    const one = await stage();
    await expect(send(one, out("x", { target: { channel: "botmsg", account: "main", chat: "12345" } }))).rejects.toMatchObject({
      failure: "permanent",
      message: expect.stringContaining("chat not found"),
    });
  });

  it("follows a group to its new id", async () => {
    const one = await stage();
    one.api.fault = ({ body }) =>
      String(body.chat_id) === "-55"
        ? { code: 400, description: "Bad Request: group chat was upgraded to a supergroup chat", parameters: { migrate_to_chat_id: GROUP } }
        : undefined;
    await send(one, out("moved", { target: { channel: "botmsg", account: "main", chat: "-55" } }));
    expect(one.api.shown.at(-1)).toMatchObject({ chat: GROUP, text: "moved" });
  });

  it("a platform that was never reached is told as retry: nothing can have arrived", async () => {
    const one = await stage({ accounts: { main: {}, dead: { token: "9:x", apiRoot: "http://127.0.0.1:1", pollInbound: false } } });
    await expect(send(one, out("x", { target: { channel: "botmsg", account: "dead", chat: "1" } }))).rejects.toMatchObject({
      failure: "retry",
      message: expect.stringContaining("ECONNREFUSED"),
    });
  });

  it("reacts to a message", async () => {
    const one = await stage();
    const id = one.api.say(TOKEN, { chat: ADA, text: "nice" });
    await channelOf(one).react?.({ channel: "botmsg", account: "main", chat: String(ADA) }, String(id), "👀", new AbortController().signal);
    expect(one.api.reactions.get(id)).toBe("👀");
  });

  it("FAULT-59 a download that fails does not show the token", async () => {
    const one = await stage();
    const error = await channelOf(one)
      .fetchMedia?.({ kind: "file", handle: "main/none" }, new AbortController().signal)
      .catch((caught: Error) => caught);
    expect(String(error)).toContain("wrong file_id");
    expect(JSON.stringify([error, String(error), (error as Error).stack])).not.toContain("secret-token");
  });
});
