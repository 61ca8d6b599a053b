const TOKEN = "svc.token";
const DAEMON = "svc.daemon";

/** Why there is no valid token now. */
export interface SignInWanted {
  /** Unix ms. */
  readonly at: number;
  /** Message of the server. */
  readonly why: string;
  /** A token was there and is refused. */
  readonly ended: boolean;
  /** A sign-in link was refused. */
  readonly link: boolean;
  /** The person asked for it: it may be closed without one. */
  readonly asked?: boolean;
}

type Listener = () => void;
const listeners = new Set<Listener>();
let wanted: SignInWanted | undefined;

const tell = () => {
  for (const listener of [...listeners]) listener();
};
// Another tab signed in or out, or chose another daemon.
globalThis.addEventListener?.("storage", ({ key }) => {
  if (key !== TOKEN && key !== DAEMON && key !== null) return;
  wanted = undefined;
  tell();
});

function read(name: string): string | undefined {
  try {
    return localStorage.getItem(name) ?? undefined;
  } catch {
    return undefined;
  }
}

function write(name: string, value: string | undefined): void {
  try {
    if (value === undefined) localStorage.removeItem(name);
    else localStorage.setItem(name, value);
  } catch {
    // A browser that stores nothing: the token lasts as long as the page does not, and the dialog asks again.
  }
}

/** User of this browser, and the daemon that its pages show: the same in all tabs. */
export const session = {
  token: (): string | undefined => read(TOKEN),
  /** Name of the daemon that is shown; undefined for the one behind the dashboard. */
  daemon: (): string | undefined => read(DAEMON),
  wanted: (): SignInWanted | undefined => wanted,
  signIn(token: string): void {
    write(TOKEN, token);
    wanted = undefined;
    tell();
  },
  signOut(): void {
    write(TOKEN, undefined);
    wanted = undefined;
    tell();
  },
  /** A request with this token was refused with 401: the dialog opens, the page stays as it is. One that was sent before the sign-in says nothing of it. */
  refuse(why: string, { token, link = false }: { readonly token?: string | undefined; readonly link?: boolean } = {}): void {
    if ((wanted !== undefined && wanted.asked !== true) || (!link && token !== read(TOKEN))) return;
    wanted = { at: Date.now(), why, link, ended: !link && read(TOKEN) !== undefined };
    tell();
  },
  /** The person wants to use another token; shown data stays until then. */
  change(): void {
    wanted ??= { at: Date.now(), why: "", ended: false, link: false, asked: true };
    tell();
  },
  /** No other token after all. */
  keep(): void {
    if (wanted?.asked !== true) return;
    wanted = undefined;
    tell();
  },
  choose(daemon: string | undefined): void {
    write(DAEMON, daemon);
    tell();
  },
  subscribe(listener: Listener): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
};

/** Exchanges the code of a sign-in link (`#sign-in=...`) for a token and takes it out of the address; for the shell, before anything is drawn. */
export async function takeLink(): Promise<void> {
  const code = /^#sign-in=([0-9a-f]+)$/.exec(location.hash)?.[1];
  if (code === undefined) return;
  history.replaceState(null, "", location.pathname + location.search);
  try {
    const answer = await fetch("/api/sign-in", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ code }),
      credentials: "omit",
    });
    const { token, error } = (await answer.json()) as { token?: string; error?: string };
    if (token !== undefined) session.signIn(token);
    else session.refuse(error ?? `The server answered ${answer.status}.`, { link: true });
  } catch {
    // No answer: the page reports it itself.
  }
}

/** Ends the sign-in here and at the server. */
export async function signOut(): Promise<void> {
  const token = session.token();
  session.signOut();
  if (token === undefined) return;
  await fetch("/api/sign-out", { method: "POST", headers: { authorization: `Bearer ${token}` }, credentials: "omit" }).catch(() => {});
}
