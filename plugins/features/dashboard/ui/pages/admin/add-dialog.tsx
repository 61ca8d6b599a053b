import { useState } from "react";
import { isFields, valueAt } from "../../forms/form-path.ts";
import { emptyOf } from "../../forms/schema-kinds.ts";
import { Button } from "../../kit/button.tsx";
import { Dialog } from "../../kit/dialog.tsx";
import { Field, TextInput } from "../../kit/field.tsx";
import { ADMIN } from "../../words/admin.ts";
import type { Draft } from "./draft.ts";
import { schemaAt } from "./tab-items.ts";

/** The tabs whose lists get entries by this dialog. */
export type AddTab = keyof typeof ADMIN.add;

const ID = /^[a-z0-9][a-z0-9_-]*$/;
const MAPS: Partial<Readonly<Record<AddTab, string>>> = { agents: "agents", schedules: "crons" };

/** A new entry, with the least that it needs; the rest is its form's affair. Gives the id under which the list shows it. */
export function AddDialog({ tab, draft, onClose, onAdded }: { readonly tab: AddTab; readonly draft: Draft; onClose(): void; onAdded(id: string): void }) {
  const [id, setId] = useState("");
  const [tried, setTried] = useState(false);
  const taken = takenIds(tab, draft.document);
  const wrong = taken.includes(id) ? ADMIN.idTaken(id) : (tried || id !== "") && !ID.test(id) ? ADMIN.idWrong : undefined;
  const add = () => {
    setTried(true);
    if (!ID.test(id) || taken.includes(id)) return;
    onAdded(put(tab, id, draft));
  };
  const actions = (
    <>
      <Button onClick={onClose}>{ADMIN.back}</Button>
      <Button kind="primary" onClick={add}>
        {ADMIN.create}
      </Button>
    </>
  );
  return (
    <Dialog title={ADMIN.addTitle[tab]} open onClose={onClose} actions={actions}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          add();
        }}
      >
        <Field label={ADMIN.id} hint={ADMIN.idHint} error={wrong}>
          {(control) => <TextInput {...control} className="mono" value={id} onChange={(event) => setId(event.target.value.trim())} />}
        </Field>
        <button type="submit" hidden />
      </form>
    </Dialog>
  );
}

function takenIds(tab: AddTab, document: unknown): readonly string[] {
  const root = MAPS[tab];
  if (root !== undefined) {
    const map = valueAt(document, [root]);
    return isFields(map) ? Object.keys(map) : [];
  }
  const list = valueAt(document, tab === "mesh" ? ["mesh", "peers"] : [tab]);
  return (Array.isArray(list) ? list : []).map((entry) => (isFields(entry) ? String(entry[tab === "mesh" ? "name" : "id"] ?? "") : ""));
}

function put(tab: AddTab, id: string, draft: Draft): string {
  const first = Object.keys((valueAt(draft.document, ["agents"]) ?? {}) as object)[0] ?? "";
  const root = MAPS[tab];
  if (tab === "agents") draft.put(["agents", id], { name: id.charAt(0).toUpperCase() + id.slice(1), workspace: `./workspaces/${id}` });
  else if (tab === "schedules") draft.put(["crons", id], { schedule: "0 9 * * 1-5", agent: first, prompt: "", enabled: false });
  if (root !== undefined) return id;
  const path = tab === "mesh" ? ["mesh", "peers"] : [tab];
  const list = valueAt(draft.document, path);
  const at = Array.isArray(list) ? list.length : 0;
  const empty = emptyOf(schemaAt(draft.schema, path)?.items ?? {});
  const begun = isFields(empty) ? empty : {};
  const entry = {
    webhooks: { ...begun, id, source: id, agentId: first },
    boards: { ...begun, id, name: id, source: { type: "forge_a", projects: [] } },
    mesh: { ...begun, name: id, url: "http://" },
  }[tab as "webhooks" | "boards" | "mesh"];
  if (tab === "mesh" && valueAt(draft.document, ["mesh"]) === undefined) draft.put(["mesh"], { enabled: true, peers: [entry] });
  else if (at === 0) draft.put(path, [entry]);
  else draft.put([...path, at], entry);
  return `${at}-${id}`;
}
