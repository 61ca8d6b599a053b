import { type KeyboardEvent, useEffect, useLayoutEffect, useRef, useState } from "react";
import { useMay, useMe, useWriting } from "../../data/me.ts";
import { Link } from "../../data/router.tsx";
import { AgentMark } from "../../kit/agent-mark.tsx";
import { Button } from "../../kit/button.tsx";
import { count } from "../../kit/figures.ts";
import { Glyph, Presence } from "../../kit/glyph.tsx";
import { Pane } from "../../kit/pane.tsx";
import { StateView } from "../../kit/state-view.tsx";
import { Ago, Duration } from "../../kit/values.tsx";
import { LIVE } from "../../words/live-words.ts";
import { presenceOf } from "./agents-pane.tsx";
import type { AgentNow } from "./live-types.ts";
import { Prose } from "./prose.tsx";
import { stopTask, TaskSteps } from "./running-task.tsx";
import { type Chat, type ShownTurn, useChat } from "./use-chat.ts";
import "./chat.css";

const DRAFT = "svc.draft.";
const NEAR_PX = 24;
const STEPS = 3;

/** Chat with an agent: stored turns, the growing answer, and the input. */
export function ChatPane({ agent, onClose }: { readonly agent: AgentNow; onClose(): void }) {
  const chat = useChat(agent.id, agent.attached !== undefined);
  const { turns, stored } = chat;
  return (
    <Pane
      className="live-chat"
      label={LIVE.reading(agent.name)}
      flush
      title={
        <span className="live-chat-title">
          <Presence state={presenceOf(agent)} />
          <AgentMark agent={agent.id} />
          <bdi className="cut">{agent.name}</bdi>
        </span>
      }
      count={<span className="cut">{[agent.tier, agent.access].join(" · ")}</span>}
      actions={
        <>
          <Button kind="plain" onClick={chat.begin}>
            {LIVE.newChat}
          </Button>
          <Button kind="plain" icon="close" aria-label={LIVE.closeChat} onClick={onClose} />
        </>
      }
    >
      {agent.attached !== undefined && <p className="live-chat-note">{LIVE.attachedChat}</p>}
      <StateView
        loading={stored.loading && stored.data === undefined}
        slow={stored.slow}
        error={stored.data === undefined && turns.length === 0 ? stored.error : undefined}
        what={LIVE.reading(agent.name)}
        onRetry={stored.reload}
        onCancel={stored.cancel}
      >
        <Said turns={turns} agent={agent} onAgain={chat.again} />
      </StateView>
      <Composer agent={agent} chat={chat} />
    </Pane>
  );
}

/** The turns, followed at the bottom and nowhere else. */
function Said({ turns, agent, onAgain }: { readonly turns: readonly ShownTurn[]; readonly agent: AgentNow; onAgain(turn: ShownTurn): void }) {
  const box = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  const [below, setBelow] = useState(false);
  const last = turns.at(-1);
  const length = turns.length + (last?.growing?.length ?? 0) + (last?.answer?.length ?? 0) + (last?.steps?.length ?? 0);
  const look = () => {
    const element = box.current;
    if (element === null) return;
    follows.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_PX;
    if (follows.current) setBelow(false);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: only where something was added
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    if (follows.current || last?.state === "sending") element.scrollTop = element.scrollHeight;
    else setBelow(true);
  }, [length, last?.state === "sending"]);
  const toEnd = () => {
    const element = box.current;
    if (element !== null) element.scrollTop = element.scrollHeight;
    setBelow(false);
  };
  return (
    <div className="live-said">
      <div ref={box} className="live-said-scroll" tabIndex={0} role="log" aria-live="off" aria-label={LIVE.reading(agent.name)} onScroll={look}>
        {turns.length === 0 && <p className="live-said-empty">{LIVE.emptyChat(agent.name)}</p>}
        {turns.map((turn) => (
          <Turn key={turn.id} turn={turn} agent={agent} onAgain={onAgain} />
        ))}
      </div>
      {below && (
        <Button className="live-said-below" icon="down" onClick={toEnd}>
          {LIVE.newText}
        </Button>
      )}
      <Announced turns={turns} agent={agent.name} />
    </div>
  );
}

/** Announces to screen readers the ends of turns that were begun here, without the steps in between. */
function Announced({ turns, agent }: { readonly turns: readonly ShownTurn[]; readonly agent: string }) {
  const open = useRef(new Set<string>());
  const [words, setWords] = useState("");
  useEffect(() => {
    for (const { id, state } of turns) {
      if (state === "running" || state === "queued" || state === "waiting") open.current.add(id);
      else if (open.current.delete(id)) setWords(state === "ok" ? LIVE.answerEnded(agent) : LIVE.answerFailed(agent));
    }
  }, [turns, agent]);
  return (
    <p className="unseen" role="status">
      {words}
    </p>
  );
}

function Turn({ turn, agent, onAgain }: { readonly turn: ShownTurn; readonly agent: AgentNow; onAgain(turn: ShownTurn): void }) {
  const { id, said, at, state, answer, growing, error, durationMs, tokens, steps = [], lead, interrupted } = turn;
  const works = state === "running" || state === "waiting" || state === "queued";
  const text = works ? growing : answer;
  return (
    <article className="live-turn" data-turn={id}>
      <p className="live-turn-who">
        <strong>{LIVE.you}</strong> <Ago at={at} clock />
      </p>
      <div className={`live-turn-said${state === "unsent" ? " live-turn-unsent" : ""}`} dir="auto">
        {said}
      </div>
      {state === "unsent" && (
        <p className="live-turn-wrong">
          <span>
            {LIVE.notSent}: {error}
          </span>
          <Button onClick={() => onAgain(turn)}>{LIVE.sendAgain}</Button>
        </p>
      )}
      {state === "sending" && <p className="live-turn-who">{LIVE.sending}</p>}
      {lead !== undefined && <p className="live-turn-who">{LIVE.withNext}</p>}
      {state !== "unsent" && state !== "sending" && lead === undefined && (
        <>
          <p className="live-turn-who">
            {works && <Glyph state={state} word />}
            {!works && (
              <strong className="cut">
                <bdi>{agent.name}</bdi>
              </strong>
            )}
            {!works && <Ago at={at + (durationMs ?? 0)} clock />}
            <Link to={`/tasks/${id}`}>
              {LIVE.task}
              {" · "}
              {works ? <Duration from={at} /> : <Duration ms={durationMs} />}
              {tokens !== undefined && tokens > 0 && ` · ${LIVE.tokens(count(tokens))}`}
            </Link>
          </p>
          {works && !interrupted && (
            <TaskSteps
              task={{
                steps: steps.slice(-STEPS).map((step) => ({ kind: "tool", ...step })),
                more: Math.max(0, steps.length - STEPS),
                step: "agent",
                state,
                startedAt: at,
                ...(state === "queued" ? { waits: "conversation" } : {}),
                ...(state === "waiting" ? { waits: agent.attached === undefined ? LIVE.notCome : LIVE.sessionSilent } : {}),
              }}
            />
          )}
          {text !== undefined && text !== "" && (
            <div className={works ? "live-turn-growing" : undefined}>
              <Prose text={text} />
            </div>
          )}
          {interrupted === true && works && <p className="live-turn-wrong live-turn-waits">{LIVE.interrupted}</p>}
          {!works && state !== "ok" && (
            <p className="live-turn-wrong">
              <Glyph state={state} word />
              <span>{error}</span>
            </p>
          )}
        </>
      )}
    </article>
  );
}

/** Where the next message is written. */
function Composer({ agent, chat }: { readonly agent: AgentNow; readonly chat: Chat }) {
  const [text, setText] = useState(() => sessionStorage.getItem(DRAFT + agent.id) ?? "");
  const writing = useWriting();
  const may = useMay("dashboard:write");
  const me = useMe();
  // One that took the place of another runs before what was said earlier.
  const running = chat.open.find(({ state }) => state === "running" || state === "waiting") ?? chat.open[0];
  const busy = running !== undefined;
  const write = (value: string) => {
    setText(value);
    sessionStorage.setItem(DRAFT + agent.id, value);
  };
  const send = (replace: boolean) => {
    const said = text.trim();
    if (said === "" || writing.why !== undefined) return;
    chat.say(said, replace ? running?.id : undefined);
    write("");
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.nativeEvent.isComposing || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    send((event.ctrlKey || event.metaKey) && busy);
  };
  return (
    <form className="live-composer" onSubmit={(event) => event.preventDefault()}>
      <textarea
        id="live-composer"
        className="kit-input"
        rows={2}
        dir="auto"
        aria-label={LIVE.write(agent.name)}
        aria-describedby="live-composer-hint"
        placeholder={busy ? LIVE.writeNext : LIVE.writeFirst}
        value={text}
        onChange={(event) => write(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <div className="live-composer-foot">
        <p id="live-composer-hint" className="meta cut">
          {may || me.data === undefined ? (busy ? LIVE.hintQueue : LIVE.hintSend) : LIVE.mayNotWrite}
        </p>
        {busy && (
          <Button icon="stop" disabledWhy={writing.why} onClick={() => void stopTask(running.id)}>
            {LIVE.stop}
          </Button>
        )}
        {busy && (
          <Button className="live-composer-replace" disabledWhy={writing.why} onClick={() => send(true)}>
            {LIVE.stopAndSend}
          </Button>
        )}
        <Button kind="primary" icon="up" disabledWhy={writing.why} onClick={() => send(false)}>
          {busy ? LIVE.queue : LIVE.send}
        </Button>
      </div>
    </form>
  );
}
