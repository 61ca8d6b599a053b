import type { ReactNode } from "react";
import { Link } from "../../data/router.tsx";
import { valueAt } from "../../forms/form-path.ts";
import { AgentMark } from "../../kit/agent-mark.tsx";
import { Glyph, Presence, type State } from "../../kit/glyph.tsx";
import { PARTS } from "../../words/admin-parts.ts";
import { AnnouncePart } from "./announce-part.tsx";
import { BoardPart } from "./board-part.tsx";
import { ChannelPart } from "./channel-part.tsx";
import type { Draft } from "./draft.ts";
import type { LiveFacts } from "./live-facts.ts";
import { PeerPart, peerWord } from "./peer-part.tsx";
import { SchedulePart } from "./schedule-part.tsx";
import type { Item, TabId } from "./tab-items.ts";
import { WebhookPart } from "./webhook-part.tsx";
import { WeekPart } from "./week-part.tsx";

const CHANNEL_GLYPHS: Readonly<Record<string, State>> = { ready: "ok", connecting: "running", down: "failed", failed: "failed", off: "skipped" };

/** State of an entry of a list, if the daemon knows it. */
export function markOf(tab: TabId, { id, path }: Item, facts: LiveFacts): ReactNode {
  if (tab === "agents") {
    const agent = facts.agents?.find((one) => one.id === id);
    return (
      <>
        <Presence state={agent === undefined ? "off" : agent.active > 0 ? "busy" : "idle"} />
        <AgentMark agent={id} />
      </>
    );
  }
  if (tab === "channels") {
    const channel = facts.channels?.find((one) => one.name === id);
    return channel === undefined ? (
      <Glyph state="skipped" label={PARTS.states.off} />
    ) : (
      <Glyph state={CHANNEL_GLYPHS[channel.state] ?? "waiting"} label={PARTS.states[channel.state]} />
    );
  }
  if (tab === "schedules") {
    const job = facts.schedules?.find((one) => one.id === id);
    if (job === undefined || !job.enabled) return <Glyph state="skipped" label={PARTS.states.off} />;
    if (job.running !== undefined) return <Glyph state="running" />;
    return <Glyph state={job.turnedOff !== undefined || job.failures > 0 ? "failed" : job.next.length > 0 ? "queued" : "waiting"} />;
  }
  if (tab === "mesh" && path.length > 1) {
    const peer = facts.peers?.[Number(path[2])];
    const state = peer?.state ?? "unknown";
    return <Glyph state={({ up: "ok", down: "failed", refused: "failed", unknown: "waiting" } as const)[state]} label={peerWord(state)} />;
  }
  return null;
}

/** Parts above the form of an entry. */
export function aboveOf(tab: TabId, item: Item, draft: Draft, facts: LiveFacts): ReactNode {
  const value = valueAt(draft.document, item.path);
  switch (tab) {
    case "agents": {
      const access = valueAt(value, ["access"]);
      return (
        <p className="admin-facts">
          <span>{access === "public" ? PARTS.accessPublic : PARTS.accessPrivate}</span>
          {facts.agents?.some(({ id }) => id === item.id) === true && <Link to={`/live?agent=${encodeURIComponent(item.id)}`}>{PARTS.talk}</Link>}
        </p>
      );
    }
    case "channels":
      return <ChannelPart channel={facts.channels?.find(({ name }) => name === item.id)} draft={draft} onChanged={facts.reload} />;
    case "schedules":
      return (
        <SchedulePart
          id={item.id}
          job={facts.schedules?.find(({ id }) => id === item.id)}
          onChanged={facts.reload}
          onDecided={() => {
            facts.reload();
            void draft.reread();
          }}
        />
      );
    case "webhooks": {
      const id = valueAt(value, ["id"]);
      return <WebhookPart webhook={facts.webhooks?.find((one) => one.id === id)} value={value} onChanged={facts.reload} />;
    }
    case "mesh":
      return item.path.length === 1 ? (
        <AnnouncePart running={facts.peers !== undefined} />
      ) : (
        <PeerPart peer={facts.peers?.find(({ name }) => name === valueAt(value, ["name"]))} onChanged={facts.reload} />
      );
    case "boards":
      return <BoardPart path={item.path} draft={draft} />;
    case "business":
      return <WeekPart draft={draft} />;
    default:
      return null;
  }
}
