import { useState } from "react";
import type { ApiError } from "../../data/api-error.ts";
import { useConnection } from "../../data/live.ts";
import { request } from "../../data/request.ts";
import { Button } from "../../kit/button.tsx";
import { Glyph } from "../../kit/glyph.tsx";
import { toast } from "../../kit/toast.ts";
import { Ago } from "../../kit/values.tsx";
import { PARTS } from "../../words/admin-parts.ts";
import type { PeerFacts } from "./live-facts.ts";

/** Whether a peer answers, since when that is known, and which agents it has. */
export function PeerPart({ peer, onChanged }: { readonly peer: PeerFacts | undefined; onChanged(): void }) {
  const [busy, setBusy] = useState(false);
  const lost = useConnection().state === "lost";
  const [agents, setAgents] = useState<readonly string[]>();
  const ask = async () => {
    if (peer === undefined) return;
    setBusy(true);
    try {
      const answer = await request<PeerFacts & { agents?: readonly string[] }>("POST", `/api/admin/mesh/peers/${encodeURIComponent(peer.name)}/test`);
      setAgents(answer.agents);
      onChanged();
    } catch (error) {
      toast({ text: (error as ApiError).message, kind: "error" });
    } finally {
      setBusy(false);
    }
  };
  return (
    <div className="admin-facts">
      {peer === undefined ? (
        <span>{lost ? PARTS.away : PARTS.notYet}</span>
      ) : (
        <>
          <span>
            <Glyph state={peer.state === "up" ? "ok" : peer.state === "unknown" ? "waiting" : "failed"} word label={peerWord(peer.state)} />{" "}
            {peer.at !== undefined && <Ago at={peer.at} />}
          </span>
          {peer.reason !== undefined && <span className="form-error">{peer.reason}</span>}
        </>
      )}
      {agents !== undefined && (
        <span>
          {PARTS.agentsThere}: {agents.length === 0 ? PARTS.none : agents.join(", ")}
        </span>
      )}
      <Button busy={busy} disabledWhy={peer === undefined ? PARTS.saveFirst : undefined} onClick={ask}>
        {PARTS.askPeer}
      </Button>
    </div>
  );
}

/** The word for how a peer stands. */
export const peerWord = (state: string): string => ({ up: PARTS.peerUp, down: PARTS.peerDown, refused: PARTS.peerRefused })[state] ?? PARTS.peerUnknown;
