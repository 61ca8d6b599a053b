import "./admin.css";
import "./admin-tables.css";
import { type ReactNode, useEffect, useState } from "react";
import { useMay, useWritingSettings } from "../../data/me.ts";
import { guardLeaving, navigate, useRoute } from "../../data/router.tsx";
import { pathText } from "../../forms/form-path.ts";
import { Button } from "../../kit/button.tsx";
import { classes } from "../../kit/class-names.ts";
import { useCommand } from "../../kit/commands.ts";
import { SearchBox } from "../../kit/field.tsx";
import { Icon } from "../../kit/icon.tsx";
import { useKeys } from "../../kit/keys.ts";
import { PageHead } from "../../kit/page-head.tsx";
import { Pane, Panes } from "../../kit/pane.tsx";
import { PanelView, usePanels } from "../../kit/panel-view.tsx";
import { StateView } from "../../kit/state-view.tsx";
import { Tabs } from "../../kit/tabs.tsx";
import { ADMIN, TAB_TITLES } from "../../words/admin.ts";
import { ActionsTab } from "./actions-tab.tsx";
import { AddDialog, type AddTab } from "./add-dialog.tsx";
import { DocumentPane } from "./document-pane.tsx";
import { type Draft, useDraft } from "./draft.ts";
import { ItemPane } from "./item-pane.tsx";
import { aboveOf, markOf } from "./item-parts.tsx";
import { useLiveFacts } from "./live-facts.ts";
import { idOfOffered, OfferedList, OfferedPane } from "./offered-part.tsx";
import { SaveBar } from "./save-bar.tsx";
import { SaveDialog } from "./save-dialogs.tsx";
import { countBelow, type Item, itemsOf, placeOf, TABS, type TabId, tabOf } from "./tab-items.ts";
import { TokensTab } from "./tokens-tab.tsx";

/** The page `/admin`: ten tabs by fragment, `#agents`, one entry as `#agents/reviewer`. */
export default function AdminPage() {
  const { hash } = useRoute();
  const draft = useDraft();
  const panels = usePanels("admin");
  const panel = panels.find(({ id }) => hash === `panel-${id}`);
  const tab = tabOf(hash);
  const [saving, setSaving] = useState(false);
  const writing = useWritingSettings();
  const may = useMay("dashboard:write");
  const count = draft.changes.length;
  useEffect(() => {
    if (count === 0) return undefined;
    const stay = guardLeaving(() => confirm(ADMIN.leave(count)));
    const closing = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", closing);
    return () => {
      stay();
      removeEventListener("beforeunload", closing);
    };
  }, [count]);
  const review = () => count > 0 && !draft.broken && writing.allowed && setSaving(true);
  const open = (id: string) => navigate(`#${id}`);
  useKeys(
    {
      "Ctrl-s": { title: ADMIN.review, run: () => review() },
      ...Object.fromEntries(TABS.map((id, at) => [`g a ${(at + 1) % 10}`, () => open(id)])),
    },
    { scope: ADMIN.title },
  );
  useCommand({ id: "admin-save", title: ADMIN.review, key: "Ctrl S", icon: "admin", run: review });
  const tabs = [
    ...TABS.map((id) => ({ id: id as string, label: TAB_TITLES[id], ...tabMark(id, draft) })),
    // Behind our own: what plugins add.
    ...panels.map(({ id, title }) => ({ id: `panel-${id}`, label: title })),
  ];
  return (
    <>
      <PageHead title={ADMIN.title} />
      <div className="admin">
        {writing.stopped && (
          <p className="admin-stopped" role="status">
            {ADMIN.stopped}
          </p>
        )}
        <div className="admin-tabs">
          <Tabs tabs={tabs} selected={panel === undefined ? tab : `panel-${panel.id}`} onSelect={open} label={ADMIN.tabs} panel="admin-panel" />
        </div>
        <div id="admin-panel" className="admin-panel" role="tabpanel" aria-label={panel?.title ?? TAB_TITLES[tab]}>
          {panel !== undefined ? (
            <div className="admin-plugin-panel">
              <PanelView key={panel.id} panel={panel} />
            </div>
          ) : tab === "tokens" ? (
            <TokensTab />
          ) : tab === "actions" ? (
            <ActionsTab />
          ) : (
            <StateView
              loading={draft.loading}
              slow={draft.slow}
              error={draft.error}
              what="svc.json"
              onRetry={draft.retry}
              onCancel={draft.cancel}
              {...(may || draft.base.revision !== "" ? {} : { empty: draft.loading ? undefined : <p>{writing.why}</p> })}
            >
              <SettingsTab key={tab} tab={tab} draft={draft} hash={hash} />
            </StateView>
          )}
        </div>
        <SaveBar draft={draft} onReview={review} onJump={(path) => jump(draft, path)} disabledWhy={writing.why} />
      </div>
      <SaveDialog draft={draft} open={saving && count > 0} stopped={writing.stopped} onClose={() => setSaving(false)} />
    </>
  );
}

/** Opens the place of a path and puts the cursor into its field. */
function jump(draft: Draft, path: Parameters<typeof placeOf>[0]): void {
  const { tab, item } = placeOf(path, draft.document, draft.schema);
  navigate(item === undefined ? `#${tab}` : `#${tab}/${encodeURIComponent(item)}`);
  const find = (tries: number) => {
    for (let length = path.length; length > 0; length -= 1) {
      const row = document.querySelector<HTMLElement>(`[data-path="${CSS.escape(pathText(path.slice(0, length)))}"]`);
      if (row === null) continue;
      row.scrollIntoView({ block: "center" });
      row.querySelector<HTMLElement>("input,select,textarea,button:not(.form-link)")?.focus();
      return;
    }
    if (tries > 0) requestAnimationFrame(() => find(tries - 1));
  };
  requestAnimationFrame(() => find(30));
}

function tabMark(tab: TabId, draft: Draft): { readonly mark?: ReactNode } {
  const items = itemsOf(tab, draft.document, draft.schema);
  const errors = items.reduce(
    (sum, { path }) =>
      sum +
      countBelow(
        path,
        draft.errors.filter(({ severity }) => severity !== "warning").map(({ path: at }) => at),
      ),
    0,
  );
  if (errors > 0) return { mark: <span className="admin-tab-wrong">{ADMIN.errors(errors)}</span> };
  const changed = draft.changes.map(({ path }) => pathText(path));
  if (!items.some(({ path }) => countBelow(path, changed) > 0)) return {};
  return { mark: <ChangedMark /> };
}

/** Something below is not saved yet. */
function ChangedMark() {
  return (
    <span className="form-mark form-mark-changed" title={ADMIN.changed}>
      <svg width="10" height="10" viewBox="0 0 10 10" aria-hidden="true">
        <path d="M5 .7 9.3 5 5 9.3.7 5z" />
      </svg>
      <span className="unseen">{ADMIN.changed}</span>
    </span>
  );
}

const ADDS: ReadonlySet<string> = new Set(["agents", "schedules", "webhooks", "mesh", "boards"]);

function SettingsTab({ tab, draft, hash }: { readonly tab: TabId; readonly draft: Draft; readonly hash: string }) {
  const [filter, setFilter] = useState("");
  const [adding, setAdding] = useState(false);
  const facts = useLiveFacts(tab);
  const items = itemsOf(tab, draft.document, draft.schema);
  const [, named, rest] = hash.split("/");
  const wanted = filter.trim().toLowerCase();
  const shown = items.filter(({ id, label }) => `${id} ${label}`.toLowerCase().includes(wanted));
  const offered = facts.offered ?? [];
  const offer = offered.find((channel) => idOfOffered(channel) === named);
  const offers = offered.filter(({ name, product = "", summary }) => `${name} ${product} ${summary}`.toLowerCase().includes(wanted));
  const inDocument = tab === "advanced" && (named === undefined || named === "document");
  const open = items.find(({ id }) => id === named) ?? (inDocument ? undefined : named === undefined ? items[0] : undefined);
  const select = (id: string) => navigate(`#${tab}/${encodeURIComponent(id)}`);
  const move = (by: number) => {
    const at = shown.findIndex(({ id }) => id === open?.id);
    const next = shown[Math.min(shown.length - 1, Math.max(0, at + by))];
    if (next !== undefined) select(next.id);
  };
  useKeys({ j: () => move(1), k: () => move(-1), Escape: () => (named === undefined ? false : navigate(`#${tab}`)) }, { scope: TAB_TITLES[tab] });
  const changed = draft.changes.map(({ path }) => pathText(path));
  const add = ADDS.has(tab) ? (
    <Button kind="primary" icon="add" onClick={() => setAdding(true)}>
      {`${ADMIN.add[tab as AddTab]}...`}
    </Button>
  ) : undefined;
  const nothing = items.length === 0 && offered.length === 0 && tab !== "advanced";
  const list = (
    <Pane className="admin-list" label={TAB_TITLES[tab]} flush actions={<SearchBox value={filter} onChange={setFilter} label={ADMIN.filter} />}>
      <ul className="admin-items">
        {tab === "advanced" && (
          <li>
            <button
              type="button"
              className={classes("admin-entry", inDocument && "admin-entry-on")}
              aria-current={inDocument || undefined}
              onClick={() => navigate("#advanced/document")}
            >
              <Icon name="tasks" />
              <span className="admin-entry-name cut">{ADMIN.document}</span>
            </button>
          </li>
        )}
        {shown.map((item) => (
          <Entry
            key={item.id}
            item={item}
            mark={markOf(tab, item, facts)}
            selected={item.id === open?.id}
            changed={countBelow(item.path, changed) > 0}
            wrong={wrongIn(draft, item)}
            onOpen={() => select(item.id)}
          />
        ))}
      </ul>
      {offers.length > 0 && <OfferedList channels={offers} selected={offer} onOpen={select} />}
      {nothing && <p className="kit-state">{ADMIN.nothing[tab]}</p>}
      {add !== undefined && <div className="admin-add">{add}</div>}
    </Pane>
  );
  const detail = inDocument ? (
    <DocumentPane draft={draft} path={rest === undefined ? undefined : decodeURIComponent(rest)} />
  ) : offer !== undefined ? (
    <OfferedPane channel={offer} />
  ) : open === undefined ? (
    <Pane label={ADMIN.pick}>
      <p className="kit-state">{nothing ? ADMIN.nothing[tab] : ADMIN.pick}</p>
    </Pane>
  ) : (
    <ItemPane key={open.id} item={open} draft={draft} above={aboveOf(tab, open, draft, facts)} onRemoved={() => navigate(`#${tab}`)} />
  );
  return (
    <>
      {named !== undefined && (
        <button type="button" className="admin-up form-link" onClick={() => navigate(`#${tab}`)}>
          {TAB_TITLES[tab]}
        </button>
      )}
      <Panes shown={named === undefined ? 0 : 1}>
        {list}
        {detail}
      </Panes>
      {adding && (
        <AddDialog
          tab={tab as AddTab}
          draft={draft}
          onClose={() => setAdding(false)}
          onAdded={(id) => {
            setAdding(false);
            select(id);
          }}
        />
      )}
    </>
  );
}

const wrongIn = (draft: Draft, { path }: Item): number =>
  countBelow(
    path,
    draft.errors.filter(({ severity }) => severity !== "warning").map(({ path: at }) => at),
  );

function Entry({
  item,
  mark,
  selected,
  changed,
  wrong,
  onOpen,
}: {
  readonly item: Item;
  readonly mark: ReactNode;
  readonly selected: boolean;
  readonly changed: boolean;
  readonly wrong: number;
  onOpen(): void;
}) {
  return (
    <li>
      <button type="button" className={classes("admin-entry", selected && "admin-entry-on")} aria-current={selected || undefined} onClick={onOpen}>
        {mark}
        <span className="admin-entry-name">
          <bdi className="cut" title={item.label}>
            {item.label}
          </bdi>
          {item.note !== "" && <span className="meta mono cut">{item.note}</span>}
        </span>
        {wrong > 0 && <span className="admin-tab-wrong">{ADMIN.errors(wrong)}</span>}
        {changed && <ChangedMark />}
      </button>
    </li>
  );
}
