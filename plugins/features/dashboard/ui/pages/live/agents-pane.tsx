import { useState } from "react";
import type { Resource } from "../../data/resource.ts";
import { Link, navigate } from "../../data/router.tsx";
import { AgentMark } from "../../kit/agent-mark.tsx";
import { useNow } from "../../kit/clock.ts";
import { SearchBox } from "../../kit/field.tsx";
import { ago } from "../../kit/figures.ts";
import { Presence, type PresenceState } from "../../kit/glyph.tsx";
import { Icon } from "../../kit/icon.tsx";
import { Pane } from "../../kit/pane.tsx";
import { StateView } from "../../kit/state-view.tsx";
import { LIVE } from "../../words/live-words.ts";
import type { AgentNow } from "./live-types.ts";

/** From so many agents on there is a filter. */
const MANY = 12;

/** All agents: presence, name, and remarks. A click opens the chat. */
export function AgentsPane({
  agents,
  talking,
  onTalk,
}: {
  readonly agents: Resource<{ readonly agents: readonly AgentNow[] }>;
  readonly talking: string | undefined;
  onTalk(agent: string): void;
}) {
  const [filter, setFilter] = useState("");
  const all = agents.data?.agents ?? [];
  const wanted = filter.toLowerCase();
  const shown = all.filter(({ id, name }) => id.toLowerCase().includes(wanted) || name.toLowerCase().includes(wanted));
  return (
    <Pane
      title={LIVE.agents}
      count={agents.data === undefined ? undefined : all.length}
      className="live-agents"
      flush
      actions={
        <Link to="/admin#agents" className="kit-button kit-button-plain kit-button-icon" aria-label={LIVE.addAgent} title={LIVE.addAgent}>
          <Icon name="add" />
        </Link>
      }
    >
      {all.length > MANY && (
        <div className="live-agents-filter">
          <SearchBox value={filter} onChange={setFilter} label={LIVE.filterAgents} />
        </div>
      )}
      <StateView
        loading={agents.loading && agents.data === undefined}
        slow={agents.slow}
        error={agents.data === undefined ? agents.error : undefined}
        what={LIVE.agents}
        onRetry={agents.reload}
        onCancel={agents.cancel}
        rows={4}
        empty={
          agents.data !== undefined && all.length === 0 ? (
            <>
              <p>{LIVE.noAgent}</p>
              <Link to="/setup" className="kit-button">
                {LIVE.setUp}
              </Link>
            </>
          ) : undefined
        }
        none={all.length > 0 && shown.length === 0 ? { filter, onClear: () => setFilter("") } : undefined}
      >
        <ul className="live-agents-list">
          {shown.map((agent) => (
            <li key={agent.id}>
              <AgentRow agent={agent} chosen={agent.id === talking} onTalk={onTalk} />
            </li>
          ))}
        </ul>
      </StateView>
    </Pane>
  );
}

/** Returns the presence of an agent, as a shape. */
export const presenceOf = ({ running, broken }: AgentNow): PresenceState => (running > 0 ? "busy" : broken === undefined ? "idle" : "broken");

function AgentRow({ agent, chosen, onTalk }: { readonly agent: AgentNow; readonly chosen: boolean; onTalk(agent: string): void }) {
  const { id, name, broken, running } = agent;
  return (
    <button type="button" className="live-agent" aria-current={chosen || undefined} onClick={() => (chosen ? navigate("/live") : onTalk(id))}>
      <Presence state={presenceOf(agent)} />
      <span className="live-agent-text">
        <span className="kit-marked" title={name}>
          <AgentMark agent={id} />
          <bdi className="cut">{name}</bdi>
        </span>
        <span className={`live-agent-state cut${broken !== undefined && running === 0 ? " live-wrong" : ""}`} title={broken ?? id}>
          <span className="mono">{id}</span> · <AgentWords agent={agent} />
        </span>
      </span>
    </button>
  );
}

/** Current activity of an agent, or since when it is idle. */
function AgentWords({ agent: { running, queued, last, broken, attached } }: { readonly agent: AgentNow }) {
  const now = useNow(running === 0 && broken === undefined && last !== undefined);
  // Running tasks may wait for the session: show both.
  if (running > 0) return [LIVE.running(running), ...(queued > 0 ? [LIVE.queued(queued)] : []), ...(attached === undefined ? [] : [LIVE.attached])].join(", ");
  if (broken !== undefined) return broken;
  if (attached !== undefined) return LIVE.attached;
  if (last === undefined) return LIVE.neverWorked;
  return LIVE.idle(ago(last.startedAt + (last.durationMs ?? 0), now).replace(/ ago$/, ""));
}
