const TOKEN = "svc.token";
const DAEMON = "svc.daemon";

/** Why there is no valid token now. */
export interface SignInWanted {
  /** Unix ms. */
  readonly at: number;
  /** What the server said. */
  readonly why: string;
  /** A token was there and is refused. */
  readonly ended: boolean;
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

/** Who uses this browser, and which daemon its pages show: the same in all tabs. */
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
    tell();
  },
  /** A request was refused with 401: the dialog opens, the page stays as it is. */
  refuse(why: string): void {
    if (wanted !== undefined) return;
    wanted = { at: Date.now(), why, ended: read(TOKEN) !== undefined };
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
