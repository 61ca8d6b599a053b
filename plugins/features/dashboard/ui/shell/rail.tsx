import { Link, navigate, useRoute } from "../data/router.tsx";
import { Button } from "../kit/button.tsx";
import { Icon } from "../kit/icon.tsx";
import { Menu } from "../kit/menu.tsx";
import { usePanels } from "../kit/panel-view.tsx";
import { useInboxCount } from "../pages/inbox/inbox-count.ts";
import { useFailedCount } from "../pages/processes/failed-count.ts";
import { SHELL } from "../words/shell.ts";
import { DaemonMenu, useDaemonItems } from "./daemon-menu.tsx";
import { PAGES, type Page } from "./pages.ts";

/** Whether an address belongs to a page of the rail. */
const isOf = ({ path }: Page, now: string) => now === path || (path !== "/" && now.startsWith(`${path}/`));

/** The pages at the left, folded to icons or not; at its foot the daemon and what belongs to the person. */
export function Rail({ onFold, onKeys }: { onFold(): void; onKeys(): void }) {
  const { path } = useRoute();
  const panels = usePanels("page");
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
      <ul>
        {links("bottom")}
        {panels.map(({ id, title }) => (
          <RailLink key={id} page={{ path: `/panels/${id}`, title, icon: "panel" }} here={path === `/panels/${id}`} />
        ))}
      </ul>
      <DaemonMenu onKeys={onKeys} />
    </nav>
  );
}

/** Counter of a page: requests that wait, failed runs that were not viewed. */
const COUNTS: Readonly<Record<string, () => number | string | undefined>> = { "/inbox": useInboxCount, "/processes": useFailedCount };
const NO_COUNT = () => undefined;

function RailLink({ page: { path, title, icon }, here }: { readonly page: Pick<Page, "path" | "title" | "icon">; readonly here: boolean }) {
  const count = (COUNTS[path] ?? NO_COUNT)() ?? 0;
  return (
    <li>
      <Link to={path} className="shell-link" aria-current={here ? "page" : undefined} title={title}>
        <Icon name={icon} />
        <span className="shell-link-title">{title}</span>
        {count !== 0 && <span className="shell-link-count">{count}</span>}
      </Link>
    </li>
  );
}

function BarLink({ page: { path, icon }, name, here }: { readonly page: Page; readonly name: string; readonly here: boolean }) {
  const count = (COUNTS[path] ?? NO_COUNT)() ?? 0;
  return (
    <Link to={path} className="shell-bar-link" aria-current={here ? "page" : undefined}>
      <Icon name={icon} />
      {name}
      {count !== 0 && <span className="shell-link-count">{count}</span>}
    </Link>
  );
}

/** The bar at the foot of a narrow screen. */
export function BottomBar({ onKeys }: { onKeys(): void }) {
  const { path } = useRoute();
  const panels = usePanels("page");
  const rest = PAGES.filter(({ rail, bar }) => rail !== undefined && bar === undefined);
  return (
    <nav className="shell-bar" aria-label={SHELL.pages}>
      {["Live", "Inbox", "Boards", "Runs"].map((name) => {
        const page = PAGES.find(({ bar }) => bar === name) as Page;
        return <BarLink key={name} page={page} name={name} here={isOf(page, path)} />;
      })}
      <Menu
        className="shell-bar-link"
        trigger={
          <>
            <Icon name="more" />
            {SHELL.more}
          </>
        }
        items={[
          ...rest.map(({ path: to, title }) => ({ id: to, label: title, onSelect: () => navigate(to) })),
          ...panels.map(({ id, title }) => ({ id: `panel ${id}`, label: title, onSelect: () => navigate(`/panels/${id}`) })),
          ...useDaemonItems(onKeys),
        ]}
      />
    </nav>
  );
}
