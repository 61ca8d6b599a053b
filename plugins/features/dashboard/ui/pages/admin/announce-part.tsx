import { type FormEvent, useState } from "react";
import type { ApiError } from "../../data/api-error.ts";
import { useWriting } from "../../data/me.ts";
import { request } from "../../data/request.ts";
import { Button } from "../../kit/button.tsx";
import { Field, TextInput } from "../../kit/field.tsx";
import { toast } from "../../kit/toast.ts";
import { PARTS } from "../../words/admin-parts.ts";

/** Says something to this daemon and to all that follow it. */
export function AnnouncePart({ running }: { readonly running: boolean }) {
  const [text, setText] = useState("");
  const [failure, setFailure] = useState<string>();
  const [busy, setBusy] = useState(false);
  const writing = useWriting();
  const announce = async (event: FormEvent) => {
    event.preventDefault();
    if (busy || !writing.allowed || text.trim() === "") return;
    setBusy(true);
    setFailure(undefined);
    try {
      await request("POST", "/api/admin/mesh/announce", { text: text.trim() });
      setText("");
      toast({ text: PARTS.announced });
    } catch (error) {
      setFailure((error as ApiError).message);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form className="admin-announce" onSubmit={announce} aria-label={PARTS.announce}>
      <Field label={PARTS.announce} hint={PARTS.announceHint} error={failure}>
        {(control) => <TextInput {...control} dir="auto" value={text} onChange={(event) => setText(event.target.value)} />}
      </Field>
      <Button submit busy={busy} disabledWhy={writing.why ?? (running ? (text.trim() === "" ? PARTS.announceEmpty : undefined) : PARTS.meshOff)}>
        {PARTS.announceDo}
      </Button>
    </form>
  );
}
