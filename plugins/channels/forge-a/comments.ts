import { channelError, type Forge, type ForgeCaller, type ForgeComment, type ForgeNote, type ForgePlace } from "@svc/sdk";
import { type Api, at } from "./client.ts";
import type { Calling } from "./forge.ts";
import type { Identities } from "./identities.ts";
import { fieldsOf, noteOf, numberOf, pathOf, textOf, timeOf, webAddress } from "./shapes.ts";

interface Parts {
  readonly api: Api;
  readonly call: Calling;
  readonly identities: Identities;
}

/** Comments of agents: written, edited, looked up, and the eye on those of others. */
export function createComments({ api, call, identities }: Parts): Pick<Forge, "post" | "edit" | "comments" | "eye"> {
  async function inThread(place: ForgePlace, thread: string, as: ForgeCaller, signal: AbortSignal): Promise<readonly unknown[]> {
    const { body } = await call({ path: at(...pathOf(place), "discussions", thread) }, as, signal);
    return notesOf(body);
  }

  /** Comments of a whole place: for issues and requests the newest first. */
  async function* all(place: ForgePlace, as: ForgeCaller, signal: AbortSignal): AsyncGenerator<unknown> {
    const token = identities.tokenOf(as.agent);
    if (place.kind === "commit") {
      for await (const page of api.pages({ path: at(...pathOf(place), "discussions"), token, signal })) for (const one of page) yield* notesOf(one);
      return;
    }
    for await (const page of api.pages({ path: at(...pathOf(place), "notes"), query: { order_by: "created_at", sort: "desc" }, token, signal })) yield* page;
  }

  const commentOf = (value: unknown, place: ForgePlace): ForgeComment[] => {
    const note = noteOf(value, { place }, api.home, place.thread);
    return note === undefined || note.system === true ? [] : [{ id: note.id, text: note.text, author: note.author, createdAt: note.createdAt, url: note.url }];
  };

  return {
    async post(place, text, as, _options, signal) {
      const path = pathOf(place);
      // A comment outside of a discussion is a plain note: an unresolved thread can block a merge. Only a plain note can be internal; an answer in a
      // discussion inherits it.
      const way = place.thread !== undefined ? ["discussions", place.thread, "notes"] : [place.kind === "commit" ? "discussions" : "notes"];
      const inside = place.thread === undefined && place.internal === true && place.kind !== "commit";
      const body = { body: text, ...(inside ? { internal: true } : {}) };
      const answer = fieldsOf((await call({ method: "POST", path: at(...path, ...way), body }, as, signal)).body);
      const made = numberOf(answer.id) ?? numberOf(fieldsOf(notesOf(answer)[0]).id);
      if (made === undefined) throw channelError("unknown", `${api.origin} took a comment and named no id of it`);
      return { id: made, url: webAddress(api.home, place, made) };
    },
    async edit(place, id, text, as, signal) {
      const way = place.thread === undefined ? ["notes"] : ["discussions", place.thread, "notes"];
      await call({ method: "PUT", path: at(...pathOf(place), ...way, id), body: { body: text } }, as, signal);
    },
    async comments(place, since, as, signal) {
      if (place.thread !== undefined)
        return (await inThread(place, place.thread, as, signal)).flatMap((note) => commentOf(note, place)).filter(({ createdAt }) => createdAt >= since);
      const found: ForgeComment[] = [];
      for await (const value of all(place, as, signal)) {
        const old = (timeOf(fieldsOf(value).created_at) ?? 0) < since;
        if (old && place.kind !== "commit") break;
        if (!old) found.push(...commentOf(value, place));
      }
      return found.sort((left, right) => left.createdAt - right.createdAt);
    },
    async eye(place, note, as, signal) {
      // Notes on commits take none.
      if (place.kind === "commit") return;
      const way = note.kind === "description" ? [] : ["notes", note.id];
      const { status, body } = await call(
        { method: "POST", path: at(...pathOf(place), ...way, "award_emoji"), body: { name: "eyes" }, accept: [404] },
        as,
        signal,
      );
      // The forge answers 404 as well where the eye is there already.
      if (status === 404 && !/taken/i.test(JSON.stringify(body ?? "")))
        throw Object.assign(channelError("permanent", `${api.origin} has no such note any more`), { status });
    },
  };
}

/** The discussion that holds a note: hooks of older forges do not name it. Undefined where the note is gone. */
export async function threadOf({ place, id }: ForgeNote, api: Api, token: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    for await (const page of api.pages({ path: at(...pathOf(place), "discussions"), token, signal }))
      for (const one of page) if (notesOf(one).some((note) => numberOf(fieldsOf(note).id) === id)) return textOf(fieldsOf(one).id);
  } catch (error) {
    if ((error as { status?: number }).status !== 404) throw error;
  }
  return undefined;
}

const notesOf = (discussion: unknown): readonly unknown[] => {
  const { notes } = fieldsOf(discussion);
  return Array.isArray(notes) ? notes : [];
};
