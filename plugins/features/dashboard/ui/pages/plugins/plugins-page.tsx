import "./plugins.css";
import { useState } from "react";
import type { PluginView } from "../../../admin/plugin-view.ts";
import { useResource } from "../../data/resource.ts";
import { useQuery } from "../../data/router.tsx";
import { classes } from "../../kit/class-names.ts";
import { SearchBox } from "../../kit/field.tsx";
import { Glyph, type State } from "../../kit/glyph.tsx";
import { useKeys } from "../../kit/keys.ts";
import { PageHead } from "../../kit/page-head.tsx";
import { Pane, Panes } from "../../kit/pane.tsx";
import { StateView } from "../../kit/state-view.tsx";
import { Segmented } from "../../kit/tabs.tsx";
import { Bytes } from "../../kit/values.tsx";
import { PLUGINS } from "../../words/plugins.ts";
import { PluginPane } from "./plugin-pane.tsx";

type Which = "running" | "all" | "wrong";

const GLYPHS: Readonly<Record<string, State>> = {
  running: "ok",
  failed: "failed",
  quarantined: "paused",
  disabled: "cancelled",
  known: "skipped",
  stopped: "cancelled",
};
const isWrong = ({ state, failures }: PluginView): boolean => state === "failed" || state === "quarantined" || failures > 0;

/** The page `/plugins`: what each one provides, costs and breaks, switched on and off. */
export default function PluginsPage() {
  const { data, error, loading, slow, reload, cancel } = useResource<{ plugins: readonly PluginView[]; revision: string; memory?: number }>(
    "/api/admin/plugins",
    {
      refreshOn: ({ kind, type }) => kind === "status" || type.startsWith("plugin:"),
    },
  );
  const [filter, setFilter] = useState("");
  const [which, setWhich] = useState<Which>("running");
  const [named, setNamed] = useQuery("plugin");
  const plugins = data?.plugins ?? [];
  const fits: Readonly<Record<Which, (plugin: PluginView) => boolean>> = {
    running: ({ state }) => state === "running" || state === "failed" || state === "quarantined",
    all: () => true,
    wrong: isWrong,
  };
  const wanted = filter.trim().toLowerCase();
  const shown = plugins.filter((plugin) => fits[which](plugin) && `${plugin.id} ${plugin.product ?? ""}`.toLowerCase().includes(wanted));
  const open = plugins.find(({ id }) => id === named);
  const move = (by: number) => {
    const at = shown.findIndex(({ id }) => id === named);
    const next = shown[Math.min(shown.length - 1, Math.max(0, at + by))];
    if (next !== undefined) setNamed(next.id);
  };
  useKeys({ j: () => move(1), k: () => move(-1), Escape: () => (named === undefined ? false : setNamed(undefined)) }, { scope: PLUGINS.title });
  const choices = (["running", "wrong", "all"] as const).map((id) => ({ id, label: PLUGINS[id], mark: String(plugins.filter(fits[id]).length) }));
  return (
    <>
      <PageHead
        title={PLUGINS.title}
        note={
          data?.memory !== undefined && (
            <>
              {PLUGINS.daemonMemory} <Bytes value={data.memory} />
            </>
          )
        }
      />
      <StateView
        loading={loading && data === undefined}
        slow={slow}
        error={data === undefined ? error : undefined}
        what="The plugins"
        onRetry={reload}
        onCancel={cancel}
      >
        <Panes shown={open === undefined ? 0 : 1}>
          <Pane
            className="plugins-list"
            label={PLUGINS.title}
            flush
            actions={
              <>
                <SearchBox value={filter} onChange={setFilter} label={PLUGINS.filter} />
                <Segmented<Which> choices={choices} selected={which} onSelect={setWhich} label={PLUGINS.which} />
              </>
            }
          >
            <ul>
              {shown.map((plugin) => (
                <Row key={plugin.id} plugin={plugin} selected={plugin.id === named} onOpen={() => setNamed(plugin.id)} />
              ))}
            </ul>
            {shown.length === 0 && <p className="kit-state">{PLUGINS.nothing}</p>}
          </Pane>
          {open === undefined ? (
            <Pane label={PLUGINS.pick} className="plugins-detail">
              <p className="kit-state">{PLUGINS.pick}</p>
            </Pane>
          ) : (
            <PluginPane key={open.id} plugin={open} revision={data?.revision ?? ""} onChanged={reload} onBack={() => setNamed(undefined)} />
          )}
        </Panes>
      </StateView>
    </>
  );
}

function Row({ plugin, selected, onOpen }: { readonly plugin: PluginView; readonly selected: boolean; onOpen(): void }) {
  const { id, product, state, took, memory, reason } = plugin;
  const label = PLUGINS.states[state] ?? state;
  return (
    <li>
      <button type="button" className={classes("plugins-row", selected && "plugins-row-on")} aria-current={selected || undefined} onClick={onOpen}>
        <Glyph state={GLYPHS[state] ?? "running"} label={label} />
        <span className="plugins-name">
          <span className="cut">
            {id} {product !== undefined && <span className="meta">{product}</span>}
          </span>
          <span className="meta cut" title={reason}>
            {reason ?? providesOf(plugin)}
          </span>
        </span>
        <span className="plugins-figure">{took === undefined || state === "known" ? "" : `${took.load + took.setup + took.start} ms`}</span>
        <span className="plugins-figure">{memory === undefined ? "" : <Bytes value={memory} />}</span>
      </button>
    </li>
  );
}

/** `1 tier, 2 routes`. */
export function providesOf({ provides, hooks }: Pick<PluginView, "provides" | "hooks">): string {
  const kinds = new Map<string, number>();
  for (const what of [...provides.map((one) => one.split(" ")[0] ?? one), ...hooks.map(() => "hook")]) kinds.set(what, (kinds.get(what) ?? 0) + 1);
  return [...kinds].map(([kind, count]) => (count === 1 ? `1 ${kind}` : `${count} ${plural(kind)}`)).join(", ") || PLUGINS.none;
}

const plural = (noun: string): string => (noun.endsWith("y") ? `${noun.slice(0, -1)}ies` : noun.endsWith("s") ? noun : `${noun}s`);
