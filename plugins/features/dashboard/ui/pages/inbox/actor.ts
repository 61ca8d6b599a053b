const KEY = "svc.inbox.actor";

/** User of this browser, as assignees of tasks name them; undefined until it is set. */
export function knownActor(): string | undefined {
  try {
    return localStorage.getItem(KEY) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Keeps who it is, or forgets it. */
export function keepActor(actor: string | undefined): void {
  try {
    if (actor === undefined || actor === "") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, actor);
  } catch {
    // A browser that stores nothing asks again.
  }
}
