import { type Confined, codeOf, type PluginContext, reasonOf } from "@svc/sdk";
import { digitsOf } from "../people.ts";
import type { IngestSettings, Settings } from "../settings.ts";
import type { Directory, KnownChat, KnownContact } from "./directory.ts";
import { contactEntry, displayName, type Entry, type Group, groupEntry, messagesEntry } from "./entries.ts";
import type { PhoneReader } from "./phone-reader.ts";
import { contactAllowed, groupAllowed } from "./scope.ts";

/** Options of one run. */
export interface SweepRequest {
  /** Only this person: a number or a saved name. */
  readonly contact?: string;
  /** Only this chat: its id, a number, or a group's name. */
  readonly chat?: string;
  /** Says what would be written, and writes nothing. */
  readonly dryRun?: boolean;
  /** Writes what has not changed, too. */
  readonly force?: boolean;
}

/** Result of one run. */
export interface SweepReport {
  readonly written: number;
  readonly unchanged: number;
  /** Chats and contacts that the lists leave out, and chats beyond the most of one run. */
  readonly skipped: number;
  readonly purged: number;
  readonly errors: readonly { readonly chat?: string; readonly message: string }[];
  readonly dryRun?: true;
  /** The files that were written, or with `dryRun` would be. */
  readonly entries: readonly string[];
}

/** Dependencies of a run. */
export interface SweepDeps {
  readonly ctx: Pick<PluginContext<Settings>, "store" | "log">;
  readonly settings: IngestSettings;
  readonly directory: Directory;
  readonly reader: PhoneReader;
  /** The workspace of the agent whose wiki it is. */
  readonly files: Confined;
  /** Throws `SVC_PHONEMSG_NOT_CONNECTED`. */
  connected(): void;
  readonly signal: AbortSignal;
  readonly now?: () => number;
}

/** Where the entries lie in the workspace. */
export const FOLDER = "wiki/raw/phonemsg";

interface Written {
  readonly digest: string;
  readonly at: number;
}
interface Cursor {
  /** Unix milliseconds of the newest message that was written, and the names of those of that moment. */
  readonly at: number;
  readonly ids: readonly string[];
  /** When the chat was last read. */
  readonly sweptAt: number;
}
interface CachedGroup {
  readonly group: Group;
  readonly at: number;
}

const DAY_MS = 86_400_000;
const HEAD_BYTES = 1_048_576;

/** Reads the allowed entries and writes them; writes nothing when the connection is down or breaks meanwhile. */
export async function sweep(deps: SweepDeps, request: SweepRequest): Promise<SweepReport> {
  const { ctx, settings, directory, reader, files, connected, signal, now = Date.now } = deps;
  const { dryRun = false, force = false } = request;
  const refreshMs = (settings.contactRefreshDays ?? 7) * DAY_MS;
  const written = ctx.store.collection<Written>("entries");
  const cursors = ctx.store.collection<Cursor>("cursors");
  const groups = ctx.store.collection<CachedGroup>("groups");
  const due: { readonly entry: Entry; after?(): Promise<void> }[] = [];
  const errors: { chat?: string; message: string }[] = [];
  let unchanged = 0;
  let skipped = 0;

  /** An entry of something that stays: written when it is new, has changed, or is older than its refresh. */
  async function offer(entry: Entry): Promise<void> {
    const before = (await written.get(entry.name))?.value;
    if (!force && before?.digest === entry.digest && before.at > now() - refreshMs) unchanged += 1;
    else due.push({ entry });
  }

  async function ofGroup({ address }: KnownChat): Promise<void> {
    const cached = (await groups.get(address))?.value;
    const fresh = !force && cached !== undefined && cached.at > now() - refreshMs;
    const group = fresh ? cached.group : await reader.group(address, signal);
    if (!fresh && !dryRun) await groups.put(address, { group, at: now() });
    await offer(groupEntry(group));
  }

  async function ofMessages(chat: KnownChat, title: string): Promise<void> {
    const cursor = (await cursors.get(chat.id))?.value;
    if (!force && cursor !== undefined && (chat.lastAt ?? 0) <= cursor.at && (chat.last === undefined || cursor.ids.includes(chat.last.id))) {
      unchanged += 1;
      return;
    }
    const since = now() - (settings.historyDays ?? 30) * DAY_MS;
    const lines = await reader.messages(chat, settings.messageCap ?? 50, since, signal);
    const fresh = force || cursor === undefined ? lines : lines.filter(({ at, id }) => at > cursor.at || (at === cursor.at && !cursor.ids.includes(id)));
    const newest = lines.at(-1);
    if (fresh.length === 0 || newest === undefined) {
      unchanged += 1;
      return;
    }
    const ids = lines.filter(({ at }) => at === newest.at).map(({ id }) => id);
    const seen = cursor?.at === newest.at ? [...new Set([...cursor.ids, ...ids])] : ids;
    due.push({
      entry: messagesEntry(chat.kind === "group" ? "group" : "dm", chat.id, title, fresh),
      after: async () => void (await cursors.put(chat.id, { at: newest.at, ids: seen, sweptAt: now() })),
    });
  }

  try {
    connected();
    const contacts = await directory.contacts();
    const chats = await directory.chats();
    const contactOf = (id: string): KnownContact => contacts.find((contact) => contact.id === id) ?? { id, ...(/^\d+$/.test(id) ? { number: id } : {}) };
    const isAllowed = (chat: KnownChat) => (chat.kind === "group" ? groupAllowed(chat, settings) : contactAllowed(contactOf(chat.id), settings));
    const titleOf = (chat: KnownChat) => (chat.kind === "group" ? (chat.name ?? chat.id) : displayName(contactOf(chat.id)));

    const people = request.chat === undefined ? contacts.filter((contact) => request.contact === undefined || isMeant(request.contact, contact)) : [];
    for (const contact of people) {
      if (contactAllowed(contact, settings)) await offer(contactEntry(contact));
      else skipped += 1;
    }
    const wanted = chats.filter((chat) => isChatMeant(chat, titleOf(chat), contactOf(chat.id), request));
    const allowed = wanted.filter(isAllowed);
    const read = allowed.filter((chat) => chat.kind === "group" || settings.mode === "messages");
    const order = await Promise.all(read.map(async (chat) => ({ chat, sweptAt: (await cursors.get(chat.id))?.value.sweptAt ?? 0 })));
    order.sort((left, right) => left.sweptAt - right.sweptAt || (right.chat.lastAt ?? 0) - (left.chat.lastAt ?? 0));
    const most = settings.throttle?.maxChatsPerSweep ?? 25;
    skipped += wanted.length - allowed.length + Math.max(0, order.length - most);
    for (const { chat } of order.slice(0, most)) {
      try {
        if (chat.kind === "group") await ofGroup(chat);
        if (settings.mode === "messages") await ofMessages(chat, titleOf(chat));
      } catch (error) {
        if (signal.aborted) throw error;
        // Without a connection the others would fail, too: that is one error and not many.
        connected();
        if (codeOf(error) === "SVC_PHONEMSG_NOT_CONNECTED") throw error;
        errors.push({ chat: titleOf(chat), message: reasonOf(error) });
      }
    }
  } catch (error) {
    return { written: 0, unchanged: 0, skipped: 0, purged: 0, errors: [{ message: reasonOf(error) }], entries: [], ...(dryRun ? { dryRun } : {}) };
  }

  const names: string[] = [];
  for (const { entry, after } of due) {
    try {
      if (!dryRun) {
        await files.write(`${FOLDER}/${entry.name}`, entry.text);
        await written.put(entry.name, { digest: entry.digest, at: now() });
        await after?.();
      }
      names.push(entry.name);
    } catch (error) {
      errors.push({ chat: entry.name, message: reasonOf(error) });
    }
  }
  const purged = dryRun ? 0 : await purge(deps, errors);
  return { written: dryRun ? 0 : names.length, unchanged, skipped, purged, errors, entries: names, ...(dryRun ? { dryRun } : {}) };
}

/** Removes entries that the wiki has absorbed and that are older than the operator wants; what it has not absorbed stays, however old. */
async function purge({ settings, files, ctx, now = Date.now }: SweepDeps, errors: { chat?: string; message: string }[]): Promise<number> {
  const days = settings.retentionDays ?? 0;
  if (days === 0) return 0;
  const written = ctx.store.collection<Written>("entries");
  let purged = 0;
  for (const { name, kind, mtimeMs } of await files.list(FOLDER).catch(() => [])) {
    if (kind !== "file" || !/^(contact|group-meta|dm|group)-[0-9a-f]{20}\.md$/.test(name)) continue;
    try {
      const at = (await written.get(name))?.value.at ?? mtimeMs;
      if (at > now() - days * DAY_MS) continue;
      const [head = ""] = Buffer.from(await files.read(`${FOLDER}/${name}`, HEAD_BYTES))
        .toString()
        .split(/\n---\n/, 1);
      if (!/^absorbed: *(true|["']?\d{4}-)/m.test(head)) continue;
      await files.remove(`${FOLDER}/${name}`);
      purged += 1;
    } catch (error) {
      errors.push({ chat: name, message: reasonOf(error) });
    }
  }
  return purged;
}

const isMeant = (word: string, { id, number, saved }: KnownContact): boolean => {
  const digits = digitsOf(word);
  return word === id || (digits !== "" && digits === number) || (saved ?? "").toLowerCase() === word.toLowerCase();
};

function isChatMeant(chat: KnownChat, title: string, contact: KnownContact, { contact: person, chat: word }: SweepRequest): boolean {
  if (person !== undefined) return chat.kind === "direct" && isMeant(person, contact);
  if (word === undefined) return true;
  return word === chat.id || word.toLowerCase() === title.toLowerCase() || (chat.kind === "direct" && isMeant(word, contact));
}
