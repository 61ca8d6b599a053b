import { useCallback, useEffect, useState } from "react";
import type { SetupView } from "../../../admin/channel-setups.ts";
import type { ChannelView, ConnectForm } from "../../../admin/channel-view.ts";
import type { ApiError } from "../../data/api-error.ts";
import { request } from "../../data/request.ts";
import { useResource } from "../../data/resource.ts";
import { isFields, valueAt, withValue } from "../../forms/form-path.ts";
import { changesBetween, editsOf } from "../../forms/setting-edits.ts";
import { Button } from "../../kit/button.tsx";
import { Combobox } from "../../kit/combobox.tsx";
import { Dialog } from "../../kit/dialog.tsx";
import { Field, TextInput } from "../../kit/field.tsx";
import { Glyph } from "../../kit/glyph.tsx";
import { StateView } from "../../kit/state-view.tsx";
import { Mono } from "../../kit/values.tsx";
import { PARTS } from "../../words/admin-parts.ts";
import type { Draft } from "./draft.ts";
import { PairPart } from "./pair-part.tsx";
import { SetupTalk } from "./setup-talk.tsx";
import { TestMessage } from "./test-message.tsx";

const LOOK_MS = 500;
const PATIENCE_MS = 30_000;
/** A channel that has just started is not connected for a moment. */
const SETTLE_MS = 2_000;

/** Sets a channel up: its credentials go to `.env`, its section to svc.json; then it is watched until it is connected or says why not. */
export function ConnectDialog({
  channel,
  draft,
  onClose,
  onChanged,
}: {
  readonly channel: ChannelView;
  readonly draft: Draft;
  onClose(): void;
  onChanged(): void;
}) {
  const form = useResource<ConnectForm>(`/api/admin/channels/${encodeURIComponent(channel.name)}/connect`);
  const agents = Object.keys((valueAt(draft.document, ["agents"]) ?? {}) as object);
  const usual = valueAt(draft.document, ["node", "defaultAgent"]);
  const [agent, setAgent] = useState<string | undefined>(typeof usual === "string" ? usual : agents[0]);
  const [allow, setAllow] = useState("");
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [failure, setFailure] = useState<string>();
  const [next, setNext] = useState<string>();
  const [phase, setPhase] = useState<"asking" | "writing" | "watching" | ChannelView>("asking");
  const section = channel.section.split(".");
  const has = (path: string) => draft.base.secrets.some((secret) => secret.path === `${channel.section}.${path}` && secret.set);

  const connect = async () => {
    const { secrets = [], agent: agentAt, allow: allowAt } = form.data ?? {};
    setPhase("writing");
    setFailure(undefined);
    try {
      const before = draft.base.document;
      let next: unknown = withValue(before, [...section, "enabled"], true);
      if (agentAt !== undefined && agent !== undefined) next = withValue(next, [...section, ...agentAt.split(".")], agent);
      const ids = allow.split(",").flatMap((id) => (id.trim() === "" ? [] : [id.trim()]));
      if (allowAt !== undefined && ids.length > 0) next = withValue(next, [...section, ...allowAt.split(".")], ids);
      for (const { path, variable } of secrets) if (!has(path)) next = withValue(next, [...section, ...path.split(".")], `\${${variable}}`);
      // Credentials first: what names a variable without a value would be refused.
      const changes = changesBetween(before, next);
      const given = secrets.filter(({ path }) => (values[path] ?? "") !== "");
      const edits = editsOf(changes, new Set(changes.map(({ path }) => path.join("."))));
      for (const { path, variable } of given)
        await request("POST", "/api/admin/secrets", { name: variable, ...(has(path) ? { path: `${channel.section}.${path}` } : {}), value: values[path] });
      const { revision } = given.length === 0 ? draft.base : await request<{ revision: string }>("GET", "/api/admin/settings");
      if (edits.length > 0)
        await request("PATCH", "/api/admin/settings", {
          edits: edits.map((edit) => (hasReference(edit.value) ? { ...edit, reference: true } : edit)),
          expect: revision,
        });
      await draft.reread();
      // The credentials are stored now: clear them from the page.
      setValues({});
      setPhase("watching");
    } catch (error) {
      setFailure((error as ApiError).message);
      setPhase("asking");
    }
  };

  // Also one that is not connected now may be in a moment: it is looked at as long as the dialog is open.
  const watching = phase === "watching" || (typeof phase === "object" && phase.state !== "ready");
  useEffect(() => {
    if (!watching) return undefined;
    let current = true;
    const began = Date.now();
    const look = async () => {
      const found = await request<{ channels: readonly ChannelView[] }>("GET", "/api/admin/channels").catch(() => undefined);
      const now = found?.channels.find(({ name }) => name === channel.name);
      if (!current) return;
      const passed = Date.now() - began;
      const patience = now?.state === "connecting" ? PATIENCE_MS : now?.state === "down" ? SETTLE_MS : 0;
      if (now !== undefined && passed >= patience) {
        setPhase((before) => (typeof before === "object" && before.state === now.state && before.reason === now.reason ? before : now));
        onChanged();
      }
      if (now?.state !== "ready") setTimeout(() => current && void look(), LOOK_MS);
    };
    void look();
    return () => {
      current = false;
    };
  }, [watching, channel.name, onChanged]);

  const done = isFields(phase) ? (phase as unknown as ChannelView) : undefined;
  const written = useCallback(
    (view: SetupView) => {
      setNext(view.next);
      void draft.reread();
      setPhase("watching");
    },
    [draft.reread],
  );
  const serverAt = form.data?.server?.split(".") ?? [];
  const server = form.data?.server === undefined ? undefined : valueAt(draft.document, [...section, ...serverAt]);
  const busy = phase === "writing" || phase === "watching";
  const { pair } = form.data ?? {};
  // Its plugin runs: only the phone is missing.
  const on = ["ready", "connecting", "down"];
  const pairs = pair !== undefined && (phase === "asking" ? on.includes(channel.state) : done !== undefined && on.includes(done.state));
  const linked = useCallback(() => {
    setPhase((now) => (typeof now === "object" && now.state === "ready" ? now : "watching"));
  }, []);
  const actions =
    done?.state === "ready" || form.data?.asks !== undefined || pairs ? (
      <Button {...(done?.state === "ready" ? { kind: "primary" as const } : {})} onClick={onClose}>
        {done?.state === "ready" ? PARTS.done : PARTS.close}
      </Button>
    ) : (
      <Button kind="primary" busy={busy} onClick={connect}>
        {PARTS.connectNow}
      </Button>
    );
  return (
    <Dialog title={PARTS.connectTitle(channel.product ?? channel.name)} open onClose={onClose} actions={actions}>
      <StateView loading={form.loading} error={form.error} what="The set-up" onRetry={form.reload} onCancel={form.cancel}>
        <div className="admin-secret">
          {!pairs && <p className="admin-prose">{form.data?.explanation}</p>}
          {form.data?.asks === "page" ? (
            (phase === "asking" || (done !== undefined && done.state !== "ready")) && (
              <SetupTalk
                channel={channel.name}
                onWritten={written}
                {...(form.data.server === undefined ? {} : { server: typeof server === "string" ? server : "" })}
              />
            )
          ) : pairs && pair !== undefined ? (
            <PairPart path={pair} onLinked={linked} />
          ) : form.data?.asks === "terminal" ? (
            <>
              <p>{PARTS.connectAsks}</p>
              <Mono>{`svc connect ${channel.name}`}</Mono>
            </>
          ) : (
            <>
              {form.data?.secrets.map(({ path, variable }) => (
                <Field key={path} label={variable} hint={has(path) ? PARTS.connectSecretKept : undefined}>
                  {(control) => (
                    <TextInput
                      {...control}
                      type="password"
                      autoComplete="new-password"
                      value={values[path] ?? ""}
                      onChange={(event) => setValues({ ...values, [path]: event.target.value })}
                    />
                  )}
                </Field>
              ))}
              {form.data?.agent !== undefined && (
                <Field label={PARTS.connectAgent}>
                  {(control) => <Combobox control={control} options={agents.map((id) => ({ id, label: id }))} value={agent} onChange={setAgent} />}
                </Field>
              )}
              {form.data?.allow !== undefined && (
                <Field label={PARTS.connectAllow} hint={PARTS.connectAllowHint}>
                  {(control) => <TextInput {...control} value={allow} onChange={(event) => setAllow(event.target.value)} />}
                </Field>
              )}
            </>
          )}
          <div role="status">
            {failure !== undefined && <p className="form-error">{failure}</p>}
            {phase === "watching" && <Glyph state="running" word label={PARTS.connecting} />}
            {done !== undefined && done.state === "ready" && <Glyph state="ok" word label={done.reason ?? PARTS.connected} />}
            {next !== undefined && (
              <div className="admin-talk-next">
                <h3>{PARTS.connectNext}</h3>
                <p className="admin-prose">{next}</p>
              </div>
            )}
            {done !== undefined && done.state !== "ready" && !pairs && (
              <p className="form-error">{PARTS.connectFailed(done.reason ?? PARTS.states[done.state])}</p>
            )}
          </div>
          {done?.state === "ready" && <TestMessage channel={done} />}
        </div>
      </StateView>
    </Dialog>
  );
}

const hasReference = (value: unknown): boolean => /\$\{[A-Za-z_]\w*\}/.test(JSON.stringify(value) ?? "");
