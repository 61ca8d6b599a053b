import { useEffect, useState } from "react";
import { navigate, useQuery, useRoute } from "../../data/router.tsx";
import { Button } from "../../kit/button.tsx";
import { useNow } from "../../kit/clock.ts";
import { Field, TextInput } from "../../kit/field.tsx";
import { Glyph } from "../../kit/glyph.tsx";
import { PageHead } from "../../kit/page-head.tsx";
import { Pane, Panes } from "../../kit/pane.tsx";
import { StateView } from "../../kit/state-view.tsx";
import { Segmented } from "../../kit/tabs.tsx";
import { VirtualList } from "../../kit/virtual-list.tsx";
import { INBOX } from "../../words/inbox.ts";
import { useMedia } from "../processes/media-query.ts";
import { keepActor, knownActor } from "./actor.ts";
import { DraftPane } from "./draft-pane.tsx";
import type { Item } from "./inbox-items.ts";
import { itemGlyph, itemLine } from "./item-words.ts";
import { RequestPane } from "./request-pane.tsx";
import { type InboxList, useEnded, useOpen, type View } from "./use-inbox.ts";
import "./inbox.css";

const ROW = 48;
const VIEWS: readonly string[] = ["me", "all", "done"];

/** Requests that wait for people: tasks of runs, approvals, questions of engines, drafts. */
export default function InboxPage() {
  const { query } = useRoute();
  const [named, setActor] = useQuery("actor");
  const [given, setView] = useQuery("view");
  const [selected, select] = useQuery("item");
  const narrow = useMedia("(max-width: 40em)");
  const actor = named ?? knownActor();
  const view: View = VIEWS.includes(given ?? "") ? (given as View) : actor === undefined ? "all" : "me";
  const mine = useOpen(actor, actor !== undefined);
  const everyone = useOpen(undefined, true);
  const ended = useEnded(view === "done");
  const list = view === "done" ? ended : view === "me" ? mine : everyone;
  const asksWho = view === "me" && actor === undefined;
  const items = asksWho ? [] : list.items;
  const item = items.find(({ key }) => key === selected) ?? everyone.items.find(({ key }) => key === selected);
  const first = items[0]?.key;
  // With room for both, a request is open from the start.
  // biome-ignore lint/correctness/useExhaustiveDependencies: only the first of a list that has just come opens by itself
  useEffect(() => {
    if (selected === undefined && first !== undefined && !narrow) select(first);
  }, [selected, first, narrow]);
  useEffect(() => {
    if (named !== undefined) keepActor(named);
  }, [named]);
  const back = new URLSearchParams(query);
  back.delete("item");
  return (
    <Panes className="inbox" shown={selected === undefined ? 0 : 1}>
      <Pane className="inbox-list" label={INBOX.requests} flush>
        <PageHead title={INBOX.title} />
        <div className="inbox-views">
          <Segmented<View>
            label={INBOX.whose}
            selected={view}
            onSelect={(next) => {
              const to = new URLSearchParams(query);
              to.set("view", next);
              to.delete("item");
              navigate(`/inbox?${to}`, { replace: true });
            }}
            choices={[
              { id: "me", label: INBOX.me, mark: actor === undefined ? undefined : counted(mine) },
              { id: "all", label: INBOX.everyone, mark: counted(everyone) },
              { id: "done", label: INBOX.done },
            ]}
          />
          {view === "me" && actor !== undefined && (
            <p className="inbox-actor meta">
              <bdi>{INBOX.forActor(actor)}</bdi>
              <Button
                kind="plain"
                onClick={() => {
                  keepActor(undefined);
                  const to = new URLSearchParams({ view: "me" });
                  navigate(`/inbox?${to}`, { replace: true });
                }}
              >
                {INBOX.change}
              </Button>
            </p>
          )}
        </div>
        {asksWho ? (
          <WhoAreYou
            onSay={(who) => {
              keepActor(who);
              setActor(who);
              if (given === undefined) setView("me");
            }}
          />
        ) : (
          <StateView
            what={INBOX.what}
            loading={list.loading}
            slow={list.slow}
            error={list.error}
            onRetry={list.reload}
            onCancel={list.cancel}
            empty={items.length === 0 ? <p>{emptyText(view, actor)}</p> : undefined}
          >
            <ItemList items={items} selected={selected} onOpen={select} onEnd={list.next} />
          </StateView>
        )}
      </Pane>
      <Pane className="inbox-one" label={item?.title ?? INBOX.oneWhat}>
        {narrow && (
          <Button kind="plain" icon="left" className="inbox-back" onClick={() => navigate(`/inbox?${back}`)}>
            {INBOX.back}
          </Button>
        )}
        {item === undefined ? (
          items.length > 0 && <p className="inbox-none">{selected === undefined || list.loading ? INBOX.choose : INBOX.gone}</p>
        ) : item.draft !== undefined ? (
          <DraftPane key={item.key} draft={item.draft} />
        ) : (
          <RequestPane key={item.key} item={item} actor={actor} />
        )}
      </Pane>
    </Panes>
  );
}

function ItemList({
  items,
  selected,
  onOpen,
  onEnd,
}: {
  readonly items: readonly Item[];
  readonly selected: string | undefined;
  onOpen(key: string): void;
  onEnd(): void;
}) {
  const now = useNow();
  const at = items.findIndex(({ key }) => key === selected);
  return (
    <VirtualList
      label={INBOX.requests}
      count={items.length}
      onEnd={onEnd}
      rowHeight={ROW}
      keyOf={(index) => items[index]?.key ?? index}
      selected={at < 0 ? undefined : at}
      onSelect={(index) => items[index] !== undefined && onOpen(items[index].key)}
      rowClass={(index) => (items[index]?.open === false ? "inbox-over" : undefined)}
      render={(index) => {
        const item = items[index];
        if (item === undefined) return null;
        const { text, late } = itemLine(item, now);
        return (
          <>
            <span role="gridcell" className="inbox-state">
              <Glyph state={itemGlyph(item, now)} />
            </span>
            <span role="gridcell" className="inbox-row">
              <bdi className="cut inbox-row-title" title={item.title}>
                {item.title}
              </bdi>
              <bdi className={late ? "cut meta inbox-late" : "cut meta"} title={text}>
                {text}
              </bdi>
            </span>
          </>
        );
      }}
    />
  );
}

function WhoAreYou({ onSay }: { onSay(who: string): void }) {
  const [who, setWho] = useState("");
  return (
    <form
      className="inbox-who"
      onSubmit={(event) => {
        event.preventDefault();
        if (who.trim() !== "") onSay(who.trim().replace(/^actor:/, ""));
      }}
    >
      <Field label={INBOX.who} hint={INBOX.whoHint}>
        {(control) => <TextInput {...control} value={who} maxLength={200} onChange={(event) => setWho(event.target.value)} />}
      </Field>
      <Button submit>{INBOX.whoSave}</Button>
    </form>
  );
}

/** `200+` while there are more than are read. */
const counted = ({ open, more }: InboxList): string => `${open}${more ? "+" : ""}`;

const emptyText = (view: View, actor: string | undefined): string =>
  view === "done" ? INBOX.nothingDone : view === "all" ? INBOX.nothingOpen : actor === undefined ? INBOX.nothing : INBOX.nothingFor(actor);
