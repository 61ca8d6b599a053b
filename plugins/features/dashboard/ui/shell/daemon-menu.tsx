import { useConnection } from "../data/live.ts";
import { useMe, useOwnMe } from "../data/me.ts";
import { session, signOut } from "../data/session.ts";
import { Presence } from "../kit/glyph.tsx";
import { Menu, type MenuItem } from "../kit/menu.tsx";
import { SHELL } from "../words/shell.ts";
import { setTheme, type Theme, useTheme } from "./theme.ts";

/** Menu at the foot of the rail: the shown daemon, colours, keys, signing out. */
export function useDaemonItems(onKeys: () => void): readonly MenuItem[] {
  const { data: me } = useOwnMe();
  const shown = session.daemon();
  const colours = useTheme();
  // Where one is shown that this dashboard does not know any more, the way back must be there.
  const daemons = me?.daemons ?? [];
  const items: MenuItem[] = [];
  if (daemons.length > 0 || shown !== undefined)
    items.push(
      { id: "here", label: SHELL.thisDaemon, checked: shown === undefined, onSelect: () => session.choose(undefined) },
      ...daemons.map(({ name }) => ({ id: `daemon ${name}`, label: name, checked: shown === name, onSelect: () => session.choose(name) })),
    );
  items.push(
    ...(["system", "light", "dark"] as const).map((one: Theme) => ({
      id: one,
      label: SHELL.themes[one],
      checked: colours === one,
      onSelect: () => setTheme(one),
    })),
    { id: "keys", label: SHELL.keys, key: "?", onSelect: onKeys },
  );
  if (session.token() !== undefined) items.push({ id: "out", label: SHELL.signOut, onSelect: () => void signOut() });
  return items;
}

/** The daemon that is shown, whether it is connected, and a menu. */
export function DaemonMenu({ onKeys }: { onKeys(): void }) {
  const { data: me } = useMe();
  const { state } = useConnection();
  const items = useDaemonItems(onKeys);
  const words = { connected: SHELL.connected, connecting: SHELL.connecting, lost: SHELL.notConnected }[state];
  const name = session.daemon() ?? me?.node ?? "svc";
  return (
    <div className="shell-daemon">
      <Menu
        className="shell-daemon-button"
        items={items}
        trigger={
          <>
            <Presence state={state === "connected" ? "idle" : "off"} label={words} />
            <span className="shell-daemon-text">
              <bdi className="shell-daemon-name cut">{name}</bdi>
              <span className="meta cut" aria-hidden="true">
                {words}
                {me !== undefined && me.version !== "" && `, v${me.version}`}
              </span>
            </span>
          </>
        }
      />
    </div>
  );
}
