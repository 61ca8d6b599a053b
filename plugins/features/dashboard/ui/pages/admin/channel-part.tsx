import { useState } from "react";
import type { ChannelView } from "../../../admin/channel-view.ts";
import { useWriting } from "../../data/me.ts";
import { Button } from "../../kit/button.tsx";
import { Dialog } from "../../kit/dialog.tsx";
import { Glyph } from "../../kit/glyph.tsx";
import { Ago } from "../../kit/values.tsx";
import { PARTS } from "../../words/admin-parts.ts";
import { ConnectDialog } from "./channel-dialog.tsx";
import type { Draft } from "./draft.ts";
import { PeoplePart } from "./people-part.tsx";
import { TestMessage } from "./test-message.tsx";

/** Whether a channel is connected, what came in last, the way to connect it and a message to try it. */
export function ChannelPart({ channel, draft, onChanged }: { readonly channel: ChannelView | undefined; readonly draft: Draft; onChanged(): void }) {
  const [open, setOpen] = useState<"connect" | "message">();
  const writing = useWriting();
  if (channel === undefined) return null;
  const { state, reason, lastIn, product, people } = channel;
  const glyph = ({ ready: "ok", connecting: "running", down: "failed", failed: "failed", off: "skipped" } as const)[state];
  return (
    <>
      <div className="admin-facts">
        {product !== undefined && <strong>{product}</strong>}
        <Glyph state={glyph} word label={PARTS.states[state]} />
        {reason !== undefined && <span className={state === "ready" ? "form-warning" : "form-error"}>{reason}</span>}
        {lastIn !== undefined && (
          <span className="meta">
            {PARTS.lastIn} <Ago at={lastIn} />
          </span>
        )}
        <span className="grow" />
        {state === "ready" && (
          <Button disabledWhy={writing.why} onClick={() => setOpen("message")}>
            {PARTS.testMessage}
          </Button>
        )}
        <Button kind={state === "off" ? "primary" : undefined} disabledWhy={writing.why} onClick={() => setOpen("connect")}>
          {PARTS.connect}
        </Button>
        {open === "connect" && <ConnectDialog channel={channel} draft={draft} onClose={() => setOpen(undefined)} onChanged={onChanged} />}
        {open === "message" && <MessageDialog channel={channel} onClose={() => setOpen(undefined)} />}
      </div>
      {people !== undefined && <PeoplePart key={people} path={people} channel={channel.name} />}
    </>
  );
}

function MessageDialog({ channel, onClose }: { readonly channel: ChannelView; onClose(): void }) {
  return (
    <Dialog title={PARTS.testMessageTitle(channel.name)} open onClose={onClose}>
      <TestMessage channel={channel} onSent={onClose} />
    </Dialog>
  );
}
