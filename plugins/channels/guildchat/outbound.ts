import { createHash } from "node:crypto";
import { type Channel, channelError, type Outgoing, type Target } from "@svc/sdk";
import { type Api, at } from "./api.ts";
import { choiceRows, MOST, type Shown, shownOf } from "./buttons.ts";
import { isReplyRefused } from "./failure.ts";
import { shownAsIs } from "./markup.ts";
import { uploadOf } from "./media.ts";
import { isId } from "./wire.ts";

/** Sends to the platform. Errors carry their class for the kernel. */
export type Outbound = Required<Pick<Channel, "send" | "edit" | "remove" | "react" | "typing">>;

/** A message notifies no one: neither by a name in it, nor as a reply. */
const NOBODY = { parse: [], replied_user: false };

/** Makes the sending side. `rich`: does this agent write markup? */
export function createOutbound(api: Api, rich: (agent: string | undefined) => boolean): Outbound {
  const shown = (out: Outgoing): Shown => {
    const { text, plain, agent } = out;
    // The kernel sends the plain words as text, too, where it fell back to them.
    if (rich(agent) && text !== plain) return shownOf(text, out);
    const words = rich(agent) || text === "" ? text : shownAsIs(plain);
    return { content: words.length <= MOST ? words : plain, components: choiceRows(out) };
  };
  const wordsOf = (out: Outgoing) => {
    const { content, components } = shown(out);
    return { content, ...(components.length === 0 ? {} : { components }) };
  };
  const bodyOf = (out: Outgoing) => ({ ...shown(out), allowed_mentions: NOBODY });

  return {
    async send(out, signal) {
      const { target, media } = out;
      const [file] = media ?? [];
      const common = {
        allowed_mentions: NOBODY,
        // The same key within minutes is the same message: the platform answers with the one that it has.
        nonce: createHash("sha256").update(out.key).digest("base64url").slice(0, 25),
        enforce_nonce: true,
      };
      const reply =
        target.replyTo === undefined || !isId(target.replyTo) ? undefined : { message_reference: { message_id: target.replyTo, fail_if_not_exists: false } };
      const path = at("channels", placeOf(target), "messages");
      const upload = file === undefined ? undefined : await uploadOf(api, file, signal);
      const body = { ...common, ...(upload === undefined ? wordsOf(out) : { attachments: [{ id: "0", filename: upload.name }] }) };
      const post = (more: object) =>
        api.call<{ id?: unknown } | null | undefined>({
          ...{ method: "POST", path, body: { ...body, ...more }, signal },
          ...(upload === undefined ? {} : { upload }),
        });
      if (reply === undefined) return { platformId: idOf(await post({})) };
      try {
        return { platformId: idOf(await post(reply)) };
      } catch (error) {
        // An answer that may not refer to its question is an answer all the same.
        if (!isReplyRefused(error)) throw error;
        return { platformId: idOf(await post({})) };
      }
    },
    async edit(platformId, out, signal) {
      await api.call({ method: "PATCH", path: messageOf(out.target, platformId), body: bodyOf(out), signal });
    },
    async remove(target, platformId, signal) {
      await api.call({ method: "DELETE", path: messageOf(target, platformId), signal });
    },
    async react(target, platformId, emoji, signal) {
      await api.call({ method: "PUT", path: `${messageOf(target, platformId)}${at("reactions", emoji)}/@me`, signal });
    },
    async typing(target, signal) {
      await api.call({ method: "POST", path: at("channels", placeOf(target), "typing"), signal });
    },
  };
}

/** Returns the id of the created message, by which it can be edited. */
function idOf(made: { readonly id?: unknown } | null | undefined): string {
  if (!isId(made?.id)) throw channelError("unknown", "the platform took a message and did not name it");
  return made.id;
}

/** A thread is a place of its own. */
function placeOf({ thread, chat }: Target): string {
  const place = thread ?? chat;
  if (!isId(place)) throw channelError("permanent", `'${place}' is no channel: the id of one is a number (Developer Mode, Copy Channel ID)`);
  return place;
}

const messageOf = (target: Target, id: string): string => at("channels", placeOf(target), "messages", id);
