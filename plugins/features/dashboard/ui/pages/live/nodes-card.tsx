import type { Resource } from "../../data/resource.ts";
import { duration } from "../../kit/figures.ts";
import { Presence, type PresenceState } from "../../kit/glyph.tsx";
import { LIVE } from "../../words/live-words.ts";
import type { NodeNow, NodesView } from "./live-types.ts";
import "./nodes.css";

/** Clocks that differ by less are in step. */
const SKEW_MS = 2_000;

/** Daemons that share the store, with their work and problems; nothing for a single one. */
export function NodesCard({ nodes: { data } }: { readonly nodes: Resource<NodesView> }) {
  if (data === undefined || data.nodes.length < 2) return null;
  return (
    <section className="live-nodes" aria-labelledby="live-nodes">
      <h3 id="live-nodes">{LIVE.daemons}</h3>
      <ul>
        {data.nodes.map((node) => (
          <li key={node.boot}>
            <NodeRow node={node} />
          </li>
        ))}
      </ul>
      {data.differences.length > 0 && (
        <p className="live-nodes-note" title={data.differences.map(({ path, groups }) => LIVE.differs(path, groups)).join("\n")}>
          {LIVE.differences(data.differences.map(({ path }) => path))}
        </p>
      )}
    </section>
  );
}

/** Returns the state of a daemon, as a shape. */
const presenceOf = ({ state, running = 0, troubles = [] }: NodeNow): PresenceState => {
  if (state === "silent" || troubles.length > 0) return "broken";
  if (state === "draining") return "off";
  return running > 0 ? "busy" : "idle";
};

function NodeRow({ node }: { readonly node: NodeNow }) {
  const { name, host, version, state, running = 0, beatMs, skewMs = 0, troubles = [] } = node;
  const facts = [
    ...(state === "alive" ? [] : [LIVE.nodeStates[state]]),
    LIVE.running(running),
    host,
    ...(version === undefined ? [] : [version]),
    ...(state === "silent" ? [LIVE.lastHeard(duration(beatMs))] : []),
    ...(Math.abs(skewMs) > SKEW_MS ? [LIVE.clockOff(duration(Math.abs(skewMs)), skewMs > 0)] : []),
  ];
  return (
    <>
      <Presence state={presenceOf(node)} label={LIVE.nodeStates[state]} />
      <bdi className="mono">{name}</bdi>
      <span className="live-nodes-facts">{facts.join(" · ")}</span>
      {troubles.map((trouble) => (
        <span key={trouble} className="live-nodes-trouble live-wrong">
          {trouble}
        </span>
      ))}
    </>
  );
}
