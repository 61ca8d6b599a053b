import { useRef } from "react";
import { useWriting } from "../../data/me.ts";
import { useResource } from "../../data/resource.ts";
import { Link, useQuery } from "../../data/router.tsx";
import { Button } from "../../kit/button.tsx";
import { SearchBox } from "../../kit/field.tsx";
import { clock } from "../../kit/figures.ts";
import { Icon } from "../../kit/icon.tsx";
import { useKeys } from "../../kit/keys.ts";
import { Menu } from "../../kit/menu.tsx";
import { PageHead } from "../../kit/page-head.tsx";
import { StateView } from "../../kit/state-view.tsx";
import { BOARDS } from "../../words/boards.ts";
import { useMedia } from "../processes/media-query.ts";
import type { Board } from "./board-types.ts";
import { BoardView } from "./board-view.tsx";
import { Unplaced } from "./unplaced.tsx";
import { useBoard } from "./use-board.ts";
import "./boards.css";

/** The boards: issues of a source as cards in six columns. */
export default function BoardsPage() {
  const boards = useResource<{ readonly boards: readonly Board[] }>("/api/boards");
  const [wanted, choose] = useQuery("board");
  const [text = "", setText] = useQuery("text");
  const search = useRef<HTMLInputElement>(null);
  const all = boards.data?.boards ?? [];
  const board = all.find(({ id }) => id === wanted) ?? all[0];
  const { state, error, reading, read, cancel, move } = useBoard(board?.available === true ? board : undefined);
  const { why } = useWriting();
  // Where the head has no room for them they stand below it.
  const narrow = useMedia("(max-width: 56.25em)");
  useKeys(
    {
      r: { title: BOARDS.keys.refresh, run: () => (board === undefined ? false : read()) },
      "/": { title: BOARDS.keys.filter, run: () => search.current?.focus() },
    },
    { scope: BOARDS.keys.scope },
  );
  const off = boards.error?.status === 404;
  const nothing = (
    <>
      <p>{off ? BOARDS.switchedOff : BOARDS.noBoard}</p>
      <Link to="/admin#boards" className="kit-button kit-button-primary">
        {BOARDS.addBoard}
      </Link>
    </>
  );
  const chooser =
    all.length > 1 ? (
      <Menu
        label={BOARDS.chooseBoard}
        trigger={<Icon name="down" />}
        items={all.map(({ id, name }) => ({ id, label: name, checked: id === board?.id, onSelect: () => choose(id) }))}
      />
    ) : undefined;
  const tools = (
    <>
      {state !== undefined && (
        <span className="meta boards-read" aria-live="polite">
          {BOARDS.read} <time dateTime={new Date(state.readAt).toISOString()}>{clock(state.readAt)}</time>
        </span>
      )}
      {board?.available === true && (
        <>
          <Button busy={reading} onClick={read}>
            {BOARDS.refresh}
          </Button>
          <SearchBox ref={search} value={text} onChange={setText} label={BOARDS.filter} />
        </>
      )}
    </>
  );
  return (
    <div className="boards">
      <PageHead title={board?.name ?? BOARDS.title} crumbs={board === undefined ? [] : [{ label: BOARDS.title, to: "/" }]} note={chooser}>
        {!narrow && tools}
      </PageHead>
      {narrow && <div className="boards-tools">{tools}</div>}
      <StateView
        what={BOARDS.what}
        loading={boards.loading && boards.data === undefined}
        slow={boards.slow}
        error={off ? undefined : boards.data === undefined ? boards.error : undefined}
        empty={board === undefined ? nothing : undefined}
        onRetry={boards.reload}
        onCancel={boards.cancel}
      >
        {board !== undefined && !board.available && (
          <div className="kit-state">
            <p>{BOARDS.sourceOff(board.source.type)}</p>
            <Link to="/admin#channels" className="kit-button">
              {BOARDS.openChannels}
            </Link>
          </div>
        )}
        {board?.available === true && (
          <>
            <p className="boards-notice boards-narrow">{BOARDS.narrow}</p>
            {!board.movable && <p className="boards-notice">{BOARDS.readOnly(board.source.type)}</p>}
            {state?.truncated === true && <p className="boards-notice">{BOARDS.truncated}</p>}
            {error !== undefined && state !== undefined && (
              <p className="boards-notice boards-wrong" role="alert">
                {error.message}{" "}
                <Button kind="plain" onClick={read}>
                  {BOARDS.tryAgain}
                </Button>
              </p>
            )}
            <StateView
              what={BOARDS.cards}
              loading={state === undefined && reading}
              error={state === undefined ? error : undefined}
              onRetry={read}
              onCancel={cancel}
            >
              {state !== undefined && (
                <>
                  {state.unplaced.length > 0 && <Unplaced board={board} state={state} why={why} onMove={move} />}
                  <BoardView key={board.id} board={board} state={state} filter={text} why={why} onMove={move} />
                </>
              )}
            </StateView>
          </>
        )}
      </StateView>
    </div>
  );
}
