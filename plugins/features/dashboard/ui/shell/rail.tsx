import { useConnection } from "../data/live.ts";
import { useMe } from "../data/me.ts";
import { Link, navigate, useRoute } from "../data/router.tsx";
import { session } from "../data/session.ts";
import { Button } from "../kit/button.tsx";
import { Presence } from "../kit/glyph.tsx";
import { Icon } from "../kit/icon.tsx";
import { Menu, type MenuItem } from "../kit/menu.tsx";
import { SHELL } from "../words/shell.ts";
import { PAGES, type Page } from "./pages.ts";
import { setTheme, type Theme, theme } from "./theme.ts";

/** Which page of the rail an address belongs to. */
const isOf = ({ path }: Page, now: string) => now === path || (path !== "/" && now.startsWith(`${path}/`));

/** The pages at the left, folded to icons or not; at its foot the daemon and what belongs to the person. */
export function Rail({ onFold, onKeys }: { onFold(): void; onKeys(): void }) {
  const { path } = useRoute();
  const links = (place: Page["rail"]) =>
    PAGES.filter(({ rail }) => rail === place).map((page) => <RailLink key={page.path} page={page} here={isOf(page, path)} />);
  return (
    <nav className="shell-rail" aria-label={SHELL.pages}>
      <div className="shell-brand">
        <Link to="/live" className="shell-name">
          svc
        </Link>
        <Button kind="plain" className="shell-fold" aria-label={SHELL.fold} onClick={onFold}>
          <kbd>\</kbd>
        </Button>
      </div>
      <ul>{links("top")}</ul>
      <span className="grow" />
      <ul>{links("bottom")}</ul>
      <DaemonMenu onKeys={onKeys} />
    </nav>
  );
}

function RailLink({ page: { path, title, icon }, here }: { readonly page: Page; readonly here: boolean }) {
  return (
    <li>
      <Link to={path} className="shell-link" aria-current={here ? "page" : undefined} title={title}>
        <Icon name={icon} />
        <span className="shell-link-title">{title}</span>
      </Link>
    </li>
  );
}

function DaemonMenu({ onKeys }: { onKeys(): void }) {
  const { data: me } = useMe();
  const { state } = useConnection();
  const items: MenuItem[] = [
    ...(["system", "light", "dark"] as const).map((one: Theme) => ({
      id: one,
      label: SHELL.themes[one],
      checked: theme() === one,
      onSelect: () => setTheme(one),
    })),
    { id: "keys", label: SHELL.keys, key: "?", onSelect: onKeys },
    ...(session.token() === undefined ? [] : [{ id: "out", label: SHELL.signOut, onSelect: () => session.signOut() }]),
  ];
  const words = { connected: SHELL.connected, connecting: SHELL.connecting, lost: SHELL.notConnected }[state];
  return (
    <div className="shell-daemon">
      <Menu
        className="shell-daemon-button"
        items={items}
        trigger={
          <>
            <Presence state={state === "connected" ? "idle" : "off"} label={words} />
            <span className="shell-daemon-text">
              <bdi className="shell-daemon-name cut">{me?.node ?? "svc"}</bdi>
              <span className="meta cut">
                {words}
                {me !== undefined && `, v${me.version}`}
              </span>
            </span>
          </>
        }
      />
    </div>
  );
}

/** The bar at the foot of a narrow screen. */
export function BottomBar() {
  const { path } = useRoute();
  const rest = PAGES.filter(({ rail, bar }) => rail !== undefined && bar === undefined);
  return (
    <nav className="shell-bar" aria-label={SHELL.pages}>
      {["Live", "Inbox", "Boards", "Runs"].map((name) => {
        const page = PAGES.find(({ bar }) => bar === name) as Page;
        return (
          <Link key={name} to={page.path} className="shell-bar-link" aria-current={isOf(page, path) ? "page" : undefined}>
            <Icon name={page.icon} />
            {name}
          </Link>
        );
      })}
      <Menu
        className="shell-bar-link"
        trigger={
          <>
            <Icon name="more" />
            {SHELL.more}
          </>
        }
        items={rest.map(({ path: to, title }) => ({ id: to, label: title, onSelect: () => navigate(to) }))}
      />
    </nav>
  );
}
