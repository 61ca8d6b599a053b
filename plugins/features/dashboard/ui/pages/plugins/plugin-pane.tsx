import type { SettingEdit, SettingsPreview, SettingsReport } from "@svc/sdk";
import { type ReactNode, useState } from "react";
import type { PluginView } from "../../../admin/plugin-view.ts";
import type { ApiError } from "../../data/api-error.ts";
import { useWriting } from "../../data/me.ts";
import { request } from "../../data/request.ts";
import { Link } from "../../data/router.tsx";
import { Button } from "../../kit/button.tsx";
import { ConfirmDialog } from "../../kit/dialog.tsx";
import { Icon } from "../../kit/icon.tsx";
import { Pane } from "../../kit/pane.tsx";
import { toast } from "../../kit/toast.ts";
import { Bytes, Mono } from "../../kit/values.tsx";
import { KIT } from "../../words/kit.ts";
import { PLUGINS } from "../../words/plugins.ts";
import { tell } from "../admin/save-dialogs.tsx";

/** One plugin: its trouble first, what it brings and needs, and its switch. */
export function PluginPane({
  plugin,
  revision,
  onChanged,
  onBack,
}: {
  readonly plugin: PluginView;
  readonly revision: string;
  onChanged(): void;
  onBack(): void;
}) {
  const { id, product, version, state, reason, provides, hooks, capabilities, failures, took, needs, neededBy, on, fixed, section, source, isolation, memory } =
    plugin;
  const [asking, setAsking] = useState<"switch" | "lift">();
  const [preview, setPreview] = useState<SettingsPreview>();
  const [failure, setFailure] = useState<string>();
  const [busy, setBusy] = useState(false);
  const writing = useWriting();
  const edits = on ? plugin.switch?.off : plugin.switch?.on;
  const ask = async () => {
    setAsking("switch");
    setPreview(undefined);
    setFailure(undefined);
    try {
      setPreview(await request<SettingsPreview>("POST", "/api/admin/settings/check", { edits }));
    } catch (error) {
      setFailure((error as ApiError).message);
    }
  };
  const turn = async () => {
    setBusy(true);
    try {
      const report = await request<SettingsReport>("PATCH", "/api/admin/settings", { edits, expect: preview?.revision ?? revision });
      // Failures of other plugins are unrelated to this switch.
      const failed = (report.failed ?? []).filter(({ plugin: other }) => other === id);
      if ((report.restartRequired ?? []).length > 0 || report.reloadSkipped !== undefined || failed.length > 0) tell({ ...report, failed });
      const back = [...(on ? (plugin.switch?.on ?? []) : (plugin.switch?.off ?? []))];
      toast({
        text: PLUGINS.switched(id, !on),
        ...(back.length === 0 ? {} : { action: { label: KIT.undo, run: () => void undo(back, report.revision) } }),
      });
      setAsking(undefined);
    } catch (error) {
      setFailure((error as ApiError).message);
    } finally {
      setBusy(false);
      onChanged();
    }
  };
  const undo = async (back: readonly SettingEdit[], expect: string) => {
    try {
      tell(await request<SettingsReport>("PATCH", "/api/admin/settings", { edits: back, expect }));
    } catch (error) {
      toast({ text: PLUGINS.notUndone(id), cause: (error as ApiError).message, kind: "error" });
    }
    onChanged();
  };
  const lift = async () => {
    setBusy(true);
    try {
      const { loaded, reason: why = "" } = await request<{ loaded: boolean; reason?: string }>("POST", `/api/admin/plugins/${encodeURIComponent(id)}/release`);
      toast(loaded ? { text: PLUGINS.lifted(id) } : { text: PLUGINS.liftFailed(id, why), kind: "error" });
      setAsking(undefined);
    } catch (error) {
      setFailure((error as ApiError).message);
    } finally {
      setBusy(false);
      onChanged();
    }
  };
  const routes = provides.filter((what) => what.startsWith("route "));
  const others = provides.filter((what) => !what.startsWith("route "));
  const wrong = (preview?.problems ?? []).filter(({ fresh }) => fresh === true);
  const title = (
    <span className="plugins-title">
      <button type="button" className="plugins-back form-link" onClick={onBack}>
        {PLUGINS.title}
      </button>
      {product !== undefined && <span>{product}</span>} <Mono>{id}</Mono> {version !== undefined && <span className="meta">{version}</span>}
    </span>
  );
  const actions = (
    <>
      {section !== undefined && <Link to={addressOf(section)}>{PLUGINS.settings}</Link>}
      {state === "quarantined" && (
        <Button disabledWhy={writing.why} onClick={() => setAsking("lift")}>
          {`${PLUGINS.lift}...`}
        </Button>
      )}
      {plugin.switch !== undefined && (
        <Button disabledWhy={writing.why} onClick={ask}>
          {`${on ? PLUGINS.switchOff : PLUGINS.switchOn}...`}
        </Button>
      )}
    </>
  );
  return (
    <Pane className="plugins-detail" title={title} actions={actions} label={id}>
      {reason !== undefined && (
        <p className="plugins-reason">
          <Icon name="warn" /> <span>{reason}</span>
        </p>
      )}
      <div role="region" aria-label={PLUGINS.facts} tabIndex={0}>
        <dl className="plugins-facts">
          <Fact name={PLUGINS.state}>{PLUGINS.states[state] ?? state}</Fact>
          {took !== undefined && <Fact name={PLUGINS.start}>{PLUGINS.took(took.load, took.setup, took.start)}</Fact>}
          <Fact name={PLUGINS.memory}>{memory === undefined ? PLUGINS.shared : <Bytes value={memory} />}</Fact>
          {isolation !== undefined && <Fact name={PLUGINS.process}>{[isolation.pid, isolation.state, ...isolation.walls].join(", ")}</Fact>}
          <Fact name={PLUGINS.source}>{source}</Fact>
          <Fact name={PLUGINS.failures}>{failures}</Fact>
          {fixed !== undefined && <Fact name={PLUGINS.fixed}>{fixed}</Fact>}
          <Fact name={PLUGINS.needs}>{named(needs)}</Fact>
          <Fact name={PLUGINS.neededBy}>{named(neededBy)}</Fact>
          <Fact name={PLUGINS.hooks}>{hooks.join(", ") || PLUGINS.none}</Fact>
          <Fact name={PLUGINS.others}>{lines(others)}</Fact>
          <Fact name={PLUGINS.routes}>{lines(routes.map((route) => route.slice("route ".length)))}</Fact>
          <Fact name={PLUGINS.uses}>{capabilities.join(", ") || PLUGINS.none}</Fact>
        </dl>
      </div>
      <ConfirmDialog
        title={on ? PLUGINS.offTitle(id) : PLUGINS.onTitle(id)}
        action={on ? PLUGINS.switchOff : PLUGINS.switchOn}
        danger={on}
        busy={busy || preview === undefined || wrong.length > 0}
        open={asking === "switch"}
        onClose={() => setAsking(undefined)}
        onConfirm={turn}
      >
        {on && (
          <>
            <p>{plugin.breaks.length === 0 ? PLUGINS.breaksNothing : PLUGINS.breaks}</p>
            <ul className="plugins-breaks">
              {plugin.breaks.map((sentence) => (
                <li key={sentence}>{sentence}</li>
              ))}
            </ul>
          </>
        )}
        {(preview?.restartRequired.length ?? 0) > 0 && <p>{PLUGINS.restart}</p>}
        <div role="status">
          {wrong.map(({ path, message }) => (
            <p key={`${path} ${message}`} className="form-error">
              <code>{path}</code> {message}
            </p>
          ))}
          {failure !== undefined && <p className="form-error">{failure}</p>}
        </div>
      </ConfirmDialog>
      <ConfirmDialog
        title={PLUGINS.liftTitle(id)}
        action={PLUGINS.lift}
        busy={busy}
        open={asking === "lift"}
        onClose={() => setAsking(undefined)}
        onConfirm={lift}
      >
        {reason !== undefined && <p className="plugins-reason">{reason}</p>}
        <p>{PLUGINS.liftText}</p>
        {failure !== undefined && (
          <p className="form-error" role="alert">
            {failure}
          </p>
        )}
      </ConfirmDialog>
    </Pane>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

const lines = (all: readonly string[]): ReactNode =>
  all.length === 0 ? (
    PLUGINS.none
  ) : (
    <ul>
      {all.map((one) => (
        <li key={one} className="mono">
          {one}
        </li>
      ))}
    </ul>
  );

const named = (ids: readonly string[]): ReactNode =>
  ids.length === 0
    ? PLUGINS.none
    : ids.map((id) => (
        <Link key={id} to={`/plugins?plugin=${encodeURIComponent(id)}`} className="plugins-link">
          {id}
        </Link>
      ));

/** Where the settings of a section are edited. */
function addressOf(section: string): string {
  const [root = "", name] = section.split(".");
  const tab = (
    { agents: "agents", channels: "channels", crons: "schedules", webhooks: "webhooks", mesh: "mesh", business: "business", boards: "boards" } as Readonly<
      Record<string, string>
    >
  )[root];
  if (tab === undefined) return `/admin#advanced/${encodeURIComponent(root)}`;
  return name === undefined ? `/admin#${tab}` : `/admin#${tab}/${encodeURIComponent(name)}`;
}
