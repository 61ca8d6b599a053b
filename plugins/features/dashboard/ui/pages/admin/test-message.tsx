import { useState } from "react";
import type { ChannelView } from "../../../admin/channel-view.ts";
import type { ApiError } from "../../data/api-error.ts";
import { request } from "../../data/request.ts";
import { Button } from "../../kit/button.tsx";
import { Field, TextInput } from "../../kit/field.tsx";
import { toast } from "../../kit/toast.ts";
import { PARTS } from "../../words/admin-parts.ts";

/** A message to a chat, to see that it arrives. */
export function TestMessage({ channel, onSent }: { readonly channel: ChannelView; onSent?(): void }) {
  const [chat, setChat] = useState("");
  const [text, setText] = useState<string>(PARTS.testText);
  const [failure, setFailure] = useState<string>();
  const [busy, setBusy] = useState(false);
  const send = async () => {
    setBusy(true);
    setFailure(undefined);
    try {
      const path = `/api/admin/channels/${encodeURIComponent(channel.channels[0] ?? channel.name)}/message`;
      const answer = await request<{ waiting?: true }>("POST", path, { chat, text });
      toast({ text: answer.waiting === true ? PARTS.sendWaits : PARTS.sent });
      onSent?.();
    } catch (error) {
      setFailure((error as ApiError).message);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      className="admin-secret"
      aria-label={PARTS.connectTry}
      onSubmit={(event) => {
        event.preventDefault();
        if (!busy) void send();
      }}
    >
      <Field label={PARTS.chat} hint={PARTS.chatHint} error={failure}>
        {(control) => <TextInput {...control} value={chat} onChange={(event) => setChat(event.target.value)} />}
      </Field>
      <Field label={PARTS.text}>{(control) => <TextInput {...control} dir="auto" value={text} onChange={(event) => setText(event.target.value)} />}</Field>
      <div>
        <Button submit busy={busy}>
          {PARTS.send}
        </Button>
      </div>
    </form>
  );
}
