import { svcError } from "@svc/sdk";

/*
 * The agents that have worked on a chain of calls, over machines: an id alone is an agent of the daemon that reads it, `<node>/<id>` one of
 * another, so that agents of one name on two machines are two.
 */

/** As it is handed to a peer: with the name of this node. */
export const qualified = (chain: readonly string[], here: string): readonly string[] =>
  chain.map((agent) => (agent.includes("/") ? agent : `${here}/${agent}`));

/** As it is read here. Throws `SVC_MESH_LOOP` (409) where the agent has worked on it before: it would be asked again and again. */
export function localChain(chain: readonly string[], here: string, agent: string): readonly string[] {
  const own = `${here}/`;
  const local = chain.map((one) => (one.startsWith(own) ? one.slice(own.length) : one));
  if (local.includes(agent))
    throw svcError("SVC_MESH_LOOP", `${agent} on ${here} has asked for this itself: ${[...chain, own + agent].join(" -> ")}. It is not asked again.`, {
      status: 409,
    });
  return local;
}
