import { createHash } from "node:crypto";
import { type Channel, channelError, type Outgoing, type Target } from "@svc/sdk";
import { type Api, at } from "./api.ts";
import { choiceRows, MOST, type Shown, shownOf } from "./buttons.ts";
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
        ...(target.replyTo === undefined || !isId(target.replyTo) ? {} : { message_reference: { message_id: target.replyTo, fail_if_not_exists: false } }),
      };
      const path = at("channels", placeOf(target), "messages");
      if (file === undefined) {
        const { content, components } = bodyOf(out);
        const made = await api.call<{ id?: unknown } | null | undefined>({
          method: "POST",
          path,
          body: { ...common, content, ...(components.length === 0 ? {} : { components }) },
          signal,
        });
        return { platformId: idOf(made) };
      }
      const upload = await uploadOf(api, file, signal);
      const made = await api.call<{ id?: unknown } | null | undefined>({
        method: "POST",
        path,
        body: { ...common, attachments: [{ id: "0", filename: upload.name }] },
        upload,
        signal,
      });
      return { platformId: idOf(made) };
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
