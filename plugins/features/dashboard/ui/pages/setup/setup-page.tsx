import "./setup.css";
import type { SettingsDocument, SettingsPreview, SettingsReport } from "@svc/sdk";
import { type ReactNode, useState } from "react";
import type { ApiError } from "../../data/api-error.ts";
import { useWriting } from "../../data/me.ts";
import { request } from "../../data/request.ts";
import { useResource } from "../../data/resource.ts";
import { Link, navigate, useQuery } from "../../data/router.tsx";
import { valueAt, withValue } from "../../forms/form-path.ts";
import { changesBetween, editsOf } from "../../forms/setting-edits.ts";
import { Button } from "../../kit/button.tsx";
import { Code } from "../../kit/code.tsx";
import { Field, TextInput } from "../../kit/field.tsx";
import { Glyph } from "../../kit/glyph.tsx";
import { PageHead } from "../../kit/page-head.tsx";
import { Pane } from "../../kit/pane.tsx";
import { StateView } from "../../kit/state-view.tsx";
import { SETUP } from "../../words/setup.ts";
import { Lines } from "../admin/lines.tsx";
import { tell } from "../admin/save-dialogs.tsx";
import { ChannelStep, EngineStep, type SetupFacts, TryStep } from "./steps.tsx";

const STEPS = ["engine", "agent", "channel", "try"] as const;
type Step = (typeof STEPS)[number];
const ID = /^[a-z0-9][a-z0-9_-]*$/;
/** Where the person is, so that a closed page goes on from there. */
const KEPT = "svc.setup";

/** Choices of the person so far. */
interface Choice {
  readonly engine: number;
  readonly model?: string;
  readonly id: string;
  readonly name: string;
  readonly workspace: string;
}

function kept(): Partial<Choice> {
  try {
    return JSON.parse(localStorage.getItem(KEPT) ?? "{}") as Partial<Choice>;
  } catch {
    return {};
  }
}

/** The page `/setup`: engine, agent, channel, and a real message; each step is tried before it is written, and the page goes on where it was left. */
export default function SetupPage() {
  const facts = useResource<SetupFacts>("/api/admin/setup");
  const settings = useResource<SettingsDocument>("/api/admin/settings");
  const [named, setNamed] = useQuery("step");
  const step: Step = STEPS.find((one) => one === named) ?? "engine";
  const [choice, setChoice] = useState<Choice>(() => ({ engine: 0, id: "assistant", name: "Assistant", workspace: "./workspaces/assistant", ...kept() }));
  const [written, setWritten] = useState<SettingsPreview>();
  const [failure, setFailure] = useState<string>();
  const [busy, setBusy] = useState(false);
  const writing = useWriting();
  const put = (more: Partial<Choice>) => {
    const next = { ...choice, ...more };
    setChoice(next);
    try {
      localStorage.setItem(KEPT, JSON.stringify(next));
    } catch {
      // A browser that stores nothing begins anew.
    }
  };
  const engine = facts.data?.engines[choice.engine] ?? facts.data?.engines[0];
  const at = STEPS.indexOf(step);
  const idWrong = ID.test(choice.id) ? undefined : SETUP.agentIdWrong;

  /** Writes engine and agent: tried first, and told where it would be refused. */
  const write = async () => {
    if (engine === undefined || settings.data === undefined || idWrong !== undefined) return false;
    setBusy(true);
    setFailure(undefined);
    try {
      const before = settings.data.document;
      const path = ["agents", choice.id];
      const known = (valueAt(before, path) ?? {}) as object;
      const keys = {
        ...engine.settings,
        tier: engine.tier,
        ...(engine.provider === undefined ? {} : { provider: engine.provider.name }),
        ...(choice.model === undefined ? {} : { model: choice.model }),
      };
      let next: unknown = withValue(before, path, { ...known, name: choice.name, workspace: choice.workspace, ...keys });
      if (valueAt(before, ["node", "defaultAgent"]) === undefined) next = withValue(next, ["node", "defaultAgent"], choice.id);
      if (engine.provider !== undefined && valueAt(before, ["providers", engine.provider.name]) === undefined)
        next = withValue(next, ["providers", engine.provider.name], engine.provider.entry);
      const changes = changesBetween(before, next);
      if (changes.length === 0) return true;
      const edits = editsOf(changes).map((edit) => (/\$\{[A-Z_]\w*\}/.test(JSON.stringify(edit.value) ?? "") ? { ...edit, reference: true as const } : edit));
      const preview = await request<SettingsPreview>("POST", "/api/admin/settings/check", { edits });
      const wrong = preview.problems.filter(({ fresh }) => fresh === true);
      if (wrong.length > 0) {
        setFailure(`${SETUP.refused} ${wrong.map(({ path: where, message }) => `${where} ${message}`).join("; ")}`);
        return false;
      }
      const report = await request<SettingsReport>("PATCH", "/api/admin/settings", { edits, expect: preview.revision });
      if (report.reloadSkipped !== undefined || report.failed !== undefined) tell(report);
      setWritten(preview);
      settings.reload();
      facts.reload();
      return true;
    } catch (error) {
      setFailure((error as ApiError).message);
      settings.reload();
      return false;
    } finally {
      setBusy(false);
    }
  };
  const go = (to: number) => setNamed(STEPS[Math.min(STEPS.length - 1, Math.max(0, to))]);
  const next = async () => {
    if (step === "agent" && !(await write())) return;
    if (step === "try") navigate("/live");
    else go(at + 1);
  };
  const bodies: Readonly<Record<Step, ReactNode>> = {
    engine: facts.data !== undefined && (
      <EngineStep facts={facts.data} chosen={choice.engine} model={choice.model} onChoose={(one, model) => put({ engine: one, model })} onLook={facts.reload} />
    ),
    agent: (
      <div className="setup-fields">
        <h2>{SETUP.agentTitle}</h2>
        <Field label={SETUP.agentId} hint={SETUP.agentIdHint} error={idWrong}>
          {(control) => (
            <TextInput
              {...control}
              className="mono"
              value={choice.id}
              onChange={({ target: { value } }) =>
                put({ id: value.trim(), ...(choice.workspace === `./workspaces/${choice.id}` ? { workspace: `./workspaces/${value.trim()}` } : {}) })
              }
            />
          )}
        </Field>
        <Field label={SETUP.agentName}>
          {(control) => <TextInput {...control} dir="auto" value={choice.name} onChange={({ target }) => put({ name: target.value })} />}
        </Field>
        <Field label={SETUP.agentWorkspace} hint={SETUP.agentWorkspaceHint}>
          {(control) => <TextInput {...control} className="mono" value={choice.workspace} onChange={({ target }) => put({ workspace: target.value })} />}
        </Field>
      </div>
    ),
    channel: facts.data !== undefined && <ChannelStep facts={facts.data} />,
    try: <TryStep agent={choice.id} hint={engine?.hint ?? ""} />,
  };
  const commands = [
    `svc setup --yes --agent ${choice.id} --tier ${engine?.tier ?? "local"}${choice.model === undefined ? "" : ` --model ${choice.model}`}`,
    `svc task run ${choice.id} "${SETUP.tryText}"`,
  ].join("\n");
  return (
    <>
      <PageHead title={SETUP.title} />
      <Pane label={SETUP.title} className="setup">
        <StateView
          loading={facts.loading && facts.data === undefined}
          slow={facts.slow}
          error={facts.data === undefined ? facts.error : undefined}
          what="This machine"
          onRetry={facts.reload}
          onCancel={facts.cancel}
        >
          <div className="setup-column">
            <ol className="setup-steps" aria-label={SETUP.steps}>
              {STEPS.map((one, place) => (
                <li key={one}>
                  <button
                    type="button"
                    className="setup-step"
                    aria-current={one === step ? "step" : undefined}
                    onClick={() => place <= at && go(place)}
                    aria-disabled={place > at || undefined}
                  >
                    {place < at ? <Glyph state="ok" /> : <span className="setup-number">{place + 1}</span>}
                    {SETUP.step[one]}
                  </button>
                </li>
              ))}
            </ol>
            {bodies[step]}
            <div role="status">{failure !== undefined && <p className="form-error">{failure}</p>}</div>
            <div className="setup-actions">
              {at > 0 && <Button onClick={() => go(at - 1)}>{SETUP.back}</Button>}
              <Button kind="primary" busy={busy} disabledWhy={step === "agent" ? writing.why : undefined} onClick={next}>
                {step === "try" ? SETUP.finish : SETUP.next}
              </Button>
            </div>
            {step === "try" && (
              <>
                {written !== undefined && (
                  <section aria-label={SETUP.wrote}>
                    <h2>{SETUP.wrote}</h2>
                    <Lines lines={written.difference} />
                  </section>
                )}
                <Code text={commands} label={SETUP.lines} />
                <Link to="/live">{SETUP.open}</Link>
              </>
            )}
          </div>
        </StateView>
      </Pane>
    </>
  );
}
