/** The sessions with one device, as the encryption library keeps them: by their keys, the open one and those that are closed. */
interface SessionRecord {
  readonly _sessions: Readonly<Record<string, { readonly indexInfo?: { readonly used?: number } }>>;
}

/**
 * Undoes the side effects of failed tries. The library tries the sessions of a device one after the other, latest used first, each try moves the
 * session's keys on whether or not it opens the message, and all of them are stored when one succeeds: the next message under such a session cannot
 * be decrypted. Returns the record in which only the session that opened the message has changed.
 */
export function withoutFailedTries<T>(before: T | undefined, after: T): T {
  if (!isRecord(before) || !isRecord(after)) return after;
  const tried = Object.entries(before._sessions)
    .sort(([, one], [, other]) => (other.indexInfo?.used ?? 0) - (one.indexInfo?.used ?? 0))
    .filter(([key, session]) => after._sessions[key] !== undefined && JSON.stringify(session) !== JSON.stringify(after._sessions[key]));
  // The tries end with the one that succeeds.
  const failed = Object.fromEntries(tried.slice(0, -1));
  return { ...after, _sessions: { ...after._sessions, ...failed } };
}

const isRecord = (value: unknown): value is SessionRecord => typeof (value as SessionRecord | undefined | null)?._sessions === "object";
