import { Component, type ComponentType, lazy, type MouseEvent, type ReactNode, Suspense, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { joinLive, untilConnected } from "../data/live.ts";
import { useMe } from "../data/me.ts";
import { knowPatterns, Link, matchPath, navigate, useRoute } from "../data/router.tsx";
import { Button } from "../kit/button.tsx";
import { useCommand } from "../kit/commands.ts";
import { type KeyHandler, useKeys } from "../kit/keys.ts";
import { PageHead, placeHeads } from "../kit/page-head.tsx";
import { StateView } from "../kit/state-view.tsx";
import { SHELL } from "../words/shell.ts";
import { KeysDialog } from "./keys-dialog.tsx";
import { PAGES } from "./pages.ts";
import { Palette } from "./palette.tsx";
import { BottomBar, Rail } from "./rail.tsx";
import { SignIn } from "./sign-in.tsx";
import { StaleBar } from "./stale-bar.tsx";
import { setTheme } from "./theme.ts";
import { Toasts } from "./toasts-view.tsx";

knowPatterns(PAGES.map(({ path }) => path));

const LAZY = new Map<string, ComponentType>(PAGES.map(({ path, load }) => [path, lazy(() => loaded(load))]));
const FOLDED = "svc.rail";

/** The frame: rail, head, the page itself, and what floats above. */
export function App() {
  const { path } = useRoute();
  const [folded, setFolded] = useState(() => localStorage.getItem(FOLDED) === "folded");
  const small = useSmall();
  const [keys, setKeys] = useState(false);
  const [palette, setPalette] = useState(false);
  const main = useRef<HTMLElement>(null);
  useEffect(joinLive, []);
  const fold = () => {
    localStorage.setItem(FOLDED, folded ? "open" : "folded");
    setFolded(!folded);
  };
  useShellCommands({ fold, keys: () => setKeys(true) });
  useKeys(shellKeys({ fold, keys: () => setKeys(true), palette: () => setPalette(true) }), { scope: "everywhere" });
  const page = PAGES.find((one) => matchPath(one.path, path) !== undefined);
  useHome(path);
  const Body = page === undefined ? NotFound : (LAZY.get(page.path) as ComponentType);
  // Another page begins at its top, for those who hear it, too.
  const place = page?.path ?? path;
  const first = useRef(place);
  useEffect(() => {
    if (first.current === place) return;
    first.current = place;
    main.current?.focus({ preventScroll: true });
  }, [place]);
  return (
    <div className="shell" data-folded={folded || (small && place === "/workflows/editor") || undefined}>
      {/* biome-ignore lint/a11y/useValidAnchor: a skip link; the fragment belongs to the page, so it moves the focus only */}
      <a className="shell-skip" href="#page" onClick={(event) => skip(event, main.current)}>
        {SHELL.skip}
      </a>
      <Rail onFold={fold} onKeys={() => setKeys(true)} />
      <div className="shell-body">
        <StaleBar />
        <header className="shell-head">
          <div ref={placeHeads} className="shell-head-page" />
          <Button className="shell-search" icon="search" onClick={() => setPalette(true)}>
            <span className="shell-search-text">{SHELL.search}</span>
            <kbd>Ctrl K</kbd>
          </Button>
        </header>
        <main ref={main} id="page" className="shell-page" tabIndex={-1}>
          <Boundary key={place}>
            <Suspense fallback={<Coming title={page?.title ?? SHELL.notFound} />}>
              <Body />
            </Suspense>
          </Boundary>
        </main>
      </div>
      <BottomBar onKeys={() => setKeys(true)} />
      <Toasts />
      <KeysDialog open={keys} onClose={() => setKeys(false)} />
      <Palette open={palette} onClose={() => setPalette(false)} />
      <SignIn />
    </div>
  );
}

/** The stream says that the server is away a moment after the first request fails. */
const NOTICE_MS = 1_000;

/** The code of a page. Where the server is away, the document is loaded anew when it is back: it may be another version by then. */
async function loaded<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    await new Promise((resolve) => setTimeout(resolve, NOTICE_MS));
    if (!(await untilConnected())) throw error;
    location.reload();
    return new Promise(() => {});
  }
}

/** Boards are the first page, by contract; without boards, the live page. */
function useHome(path: string): void {
  const { data } = useMe();
  const boardless = data !== undefined && !data.has.boards;
  useEffect(() => {
    if (path === "/" && boardless) navigate("/live", { replace: true });
  }, [path, boardless]);
}

/** The fragment belongs to the page: the link moves the focus only. */
function skip(event: MouseEvent, main: HTMLElement | null): void {
  event.preventDefault();
  main?.focus();
}

const SMALL = matchMedia("(max-width: 90em)");

/** The editor needs the room of the rail there. */
function useSmall(): boolean {
  return useSyncExternalStore(
    (listener) => {
      SMALL.addEventListener("change", listener);
      return () => SMALL.removeEventListener("change", listener);
    },
    () => SMALL.matches,
  );
}

function useShellCommands({ fold, keys }: Readonly<Record<"fold" | "keys", () => void>>): void {
  useCommand({ id: "keys", title: SHELL.showKeys, icon: "keys", key: "?", run: keys });
  useCommand({ id: "fold", title: SHELL.keyFold, icon: "menu", key: "\\", run: fold });
  useCommand({ id: "dark", title: SHELL.useDark, icon: "theme", run: () => setTheme("dark") });
  useCommand({ id: "light", title: SHELL.useLight, icon: "theme", run: () => setTheme("light") });
  useCommand({ id: "setup", title: SHELL.openSetup, icon: "setup", run: () => navigate("/setup") });
}

function shellKeys({ fold, keys, palette }: Readonly<Record<"fold" | "keys" | "palette", () => void>>): Readonly<Record<string, KeyHandler>> {
  const go = PAGES.filter(({ goKey }) => goKey !== undefined).map(({ goKey, title, path }): [string, KeyHandler] => [
    `g ${goKey}`,
    { title: SHELL.goTo(title), run: () => navigate(path) },
  ]);
  return {
    "Ctrl-k": { title: SHELL.keyPalette, run: palette },
    "?": { title: SHELL.keyList, run: keys },
    "\\": { title: SHELL.keyFold, run: fold },
    "/": { title: SHELL.keyFilter, run: focusFilter },
    ...Object.fromEntries(go),
  };
}

/** The first filter of the page that is in sight. */
function focusFilter(): boolean {
  const found = [...document.querySelectorAll<HTMLInputElement>("#page [role=searchbox]")].find((input) => input.checkVisibility());
  found?.focus();
  return found !== undefined;
}

/** Stands for a page whose code is on its way. */
function Coming({ title }: { readonly title: string }) {
  return (
    <>
      <PageHead title={title} />
      <StateView loading />
    </>
  );
}

function NotFound() {
  return (
    <>
      <PageHead title={SHELL.notFound} />
      <div className="kit-state">
        <p>{SHELL.notFound}</p>
        <Link to="/live">{SHELL.toLive}</Link>
      </div>
    </>
  );
}

/** A page that breaks says so in its own place; the frame goes on. */
class Boundary extends Component<{ readonly children: ReactNode }, { readonly error?: Error }> {
  override state: { readonly error?: Error } = {};

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    return (
      <div className="kit-state" role="alert">
        <p className="kit-state-wrong">
          {SHELL.brokenPage} {error.message}
        </p>
        <Button onClick={() => location.reload()}>{SHELL.loadAgain}</Button>
      </div>
    );
  }
}
