import { useEffect, useRef, useState } from "react";
import { isCancelled } from "../../data/api-error.ts";
import { useLive } from "../../data/live.ts";
import { type Resource, useResource } from "../../data/resource.ts";
import { navigate, useQuery } from "../../data/router.tsx";
import { useCommand } from "../../kit/commands.ts";
import { useKeys } from "../../kit/keys.ts";
import { PageHead } from "../../kit/page-head.tsx";
import { PanelCards } from "../../kit/panel-view.tsx";
import { Segmented } from "../../kit/tabs.tsx";
import { LIVE } from "../../words/live-words.ts";
import { AgentsPane } from "./agents-pane.tsx";
import { ChatPane } from "./chat-pane.tsx";
import { EventsPane } from "./events-pane.tsx";
import type { AgentNow, NodesView, SeriesRange, SeriesView, TasksNow } from "./live-types.ts";
import { NodesCard } from "./nodes-card.tsx";
import { NowPane } from "./now-pane.tsx";
import { Strip } from "./strip.tsx";
import "./live.css";

const FOLDED = "svc.strip";
/** Plots are counted again at most that often, and that often also when nothing is told. */
const SERIES_MS = 2_000;
const SERIES_REST_MS = 15_000;
const REREAD_MS = 10_000;

type Shown = "now" | "agents" | "events";

/** The page `/live`: what happens now, and did it go well. */
export default function LivePage() {
  const [talking, talk] = useQuery("chat");
  const [range = "1h", setRange] = useQuery("range") as [SeriesRange | undefined, (range: string | undefined) => void];
  const [shown, setShown] = useState<Shown>("now");
  const [chosen, choose] = useState<{ readonly agent: string }>();
  const [folded, setFolded] = useState(() => localStorage.getItem(FOLDED) === "folded");
  const agents = useResource<{ readonly agents: readonly AgentNow[] }>("/api/tasks/agents", {
    refreshOn: ({ kind, type }) => kind === "agent" || type.startsWith("task:") || kind === "config",
  });
  const now = useResource<TasksNow>("/api/tasks/now", { refreshOn: ({ type, kind }) => type.startsWith("task:") || kind === "message" });
  const nodes = useResource<NodesView>("/api/nodes", { refreshOn: ({ kind }) => kind === "status" });
  useRereading(now, agents, nodes);
  const series = useSeries(["1h", "24h", "7d"].includes(range) ? range : "1h");
  const known = agents.data?.agents ?? [];
  const ids = known.map(({ id }) => id);
  const nameOf = (id: string) => (id === "" ? LIVE.withoutAgent : (known.find((agent) => agent.id === id)?.name ?? id));
  const partner = talking === undefined ? undefined : known.find(({ id }) => id === talking);
  const open = (agent: string) => {
    navigate(`/live?chat=${encodeURIComponent(agent)}${range === "1h" ? "" : `&range=${range}`}`);
    setShown("now");
    choose({ agent });
  };
  // The chat may come some frames later. One that is opened by its address takes no focus.
  useEffect(() => {
    if (chosen === undefined || chosen.agent !== partner?.id) return;
    document.getElementById("live-composer")?.focus();
    choose(undefined);
  }, [chosen, partner?.id]);
  const fold = () => {
    localStorage.setItem(FOLDED, folded ? "" : "folded");
    setFolded(!folded);
  };
  useKeys(
    {
      c: { title: LIVE.talk, run: () => (known[0] === undefined ? false : open(partner?.id ?? known[0].id)) },
      t: { title: LIVE.foldStrip, run: fold },
      Escape: { title: LIVE.closeChat, run: () => (talking === undefined ? false : talk(undefined)) },
    },
    { scope: LIVE.title },
  );
  useCommand({ id: "live.talk", title: `${LIVE.talk}...`, key: "c", icon: "chat", run: () => known[0] !== undefined && open(partner?.id ?? known[0].id) });
  return (
    <>
      <PageHead title={LIVE.title}>
        <Segmented<Shown>
          className="live-switch"
          label={LIVE.panes}
          selected={shown}
          onSelect={setShown}
          choices={[
            { id: "now", label: LIVE.now },
            { id: "agents", label: LIVE.agents },
            { id: "events", label: LIVE.events },
          ]}
        />
      </PageHead>
      <div className="live" data-shown={shown} data-chat={partner !== undefined || undefined}>
        <AgentsPane agents={agents} talking={partner?.id} onTalk={open} />
        {partner !== undefined && <ChatPane key={partner.id} agent={partner} onClose={() => talk(undefined)} />}
        <div className="live-middle">
          <Strip
            series={series}
            range={range}
            onRange={(next) => setRange(next === "1h" ? undefined : next)}
            nameOf={nameOf}
            agents={agents.data === undefined && agents.error === undefined ? undefined : ids}
            folded={folded}
            onFold={fold}
          />
          <NodesCard nodes={nodes} />
          <PanelCards />
          <div className="live-below">
            <NowPane now={now} nameOf={nameOf} onTalk={open} />
            {partner === undefined && <EventsPane />}
          </div>
        </div>
        {partner !== undefined && <EventsPane />}
      </div>
    </>
  );
}

/** Data loaded before the stream opened may lack events in between: reload it then, and periodically. */
function useRereading(...resources: readonly Resource<unknown>[]): void {
  const last = useRef(resources);
  last.current = resources;
  const again = useRef(() => {
    for (const { error, reload } of last.current) if (!isCancelled(error)) reload();
  });
  useLive(() => again.current(), { names: ["snapshot"] });
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) again.current();
    }, REREAD_MS);
    return () => clearInterval(timer);
  }, []);
}

/** The plots, counted again when tasks begin or end, but not more often than they can change visibly. */
function useSeries(range: SeriesRange): Resource<SeriesView> {
  const series = useResource<SeriesView>(`/api/tasks/series?range=${range}`);
  const stale = useRef(false);
  const last = useRef(series);
  last.current = series;
  useLive(
    ({ data }) => {
      if ((data as { type: string }).type.startsWith("task:")) stale.current = true;
    },
    { names: ["event"] },
  );
  useEffect(() => {
    const timer = setInterval(() => {
      const { data, error, at = 0, reload } = last.current;
      if (document.hidden || isCancelled(error) || !(stale.current || data?.knownFrom !== undefined || Date.now() - at > SERIES_REST_MS)) return;
      stale.current = false;
      reload();
    }, SERIES_MS);
    return () => clearInterval(timer);
  }, []);
  return series;
}
