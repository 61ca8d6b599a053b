import { useState } from "react";
import type { ApiError } from "../../data/api-error.ts";
import { request } from "../../data/request.ts";
import { Link } from "../../data/router.tsx";
import { Button } from "../../kit/button.tsx";
import { Field, TextInput } from "../../kit/field.tsx";
import { Glyph } from "../../kit/glyph.tsx";
import { Duration } from "../../kit/values.tsx";
import { SETUP } from "../../words/setup.ts";

/** Facts that the daemon finds on its machine. */
export interface SetupFacts {
  readonly engines: readonly {
    readonly label: string;
    readonly tier: string;
    readonly provider?: { readonly name: string; readonly entry: object };
    readonly settings?: Readonly<Record<string, unknown>>;
    readonly models: readonly string[];
    readonly hint: string;
  }[];
  readonly installable: readonly string[];
  readonly agents: readonly string[];
  readonly channels: readonly string[];
}

/** Says nothing of this engine in particular. */
const isUsual = (hint: string): boolean => hint === "" || hint === "run: svc doctor";

/** Choice of the engine: those that were found, and how to install others. */
export function EngineStep({
  facts: { engines, installable },
  chosen,
  model,
  onChoose,
  onLook,
}: {
  readonly facts: SetupFacts;
  readonly chosen: number;
  readonly model: string | undefined;
  onChoose(engine: number, model: string | undefined): void;
  onLook(): void;
}) {
  const models = engines[chosen]?.models ?? [];
  return (
    <div className="setup-fields">
      <fieldset>
        <legend className="setup-title">{SETUP.engineTitle}</legend>
        {engines.map(({ label, hint }, at) => (
          <label key={label} className="setup-choice">
            <input type="radio" name="engine" checked={chosen === at} onChange={() => onChoose(at, engines[at]?.models[0])} />
            <span>
              {label}
              {!isUsual(hint) && <span className="meta setup-hint">{hint}</span>}
            </span>
          </label>
        ))}
      </fieldset>
      {models.length > 0 && (
        <Field label={SETUP.model}>
          {(control) => (
            <select
              {...control}
              className="kit-input"
              value={model ?? ""}
              onChange={({ target }) => onChoose(chosen, target.value === "" ? undefined : target.value)}
            >
              <option value="">{SETUP.modelEngine}</option>
              {models.map((one) => (
                <option key={one} value={one}>
                  {one}
                </option>
              ))}
            </select>
          )}
        </Field>
      )}
      {installable.length > 0 && (
        <section aria-label={SETUP.engineMissing}>
          <h2>{SETUP.engineMissing}</h2>
          <ul className="setup-install">
            {installable.map((line) => (
              <li key={line}>
                {line.split(/(?<=: )/)[0]}
                <code>
                  {line
                    .split(/(?<=: )/)
                    .slice(1)
                    .join("")}
                </code>
              </li>
            ))}
          </ul>
          <Button onClick={onLook}>{SETUP.look}</Button>
        </section>
      )}
    </div>
  );
}

/** Choice of a channel: this page is enough. */
export function ChannelStep({ facts: { channels } }: { readonly facts: SetupFacts }) {
  return (
    <div className="setup-fields">
      <h2>{SETUP.channelTitle}</h2>
      <p>
        <Glyph state="ok" word label={SETUP.channelPage} />
      </p>
      <p className="meta">{SETUP.channelPageHint}</p>
      {channels.map((name) => (
        <p key={name}>
          <Glyph state="ok" word label={name} />
        </p>
      ))}
      <Link to="/admin#channels">{SETUP.channelOther}</Link>
    </div>
  );
}

interface Answer {
  readonly ok?: boolean;
  readonly reply?: string;
  readonly error?: string;
  readonly status?: string;
}

/** A real message and its real answer. */
export function TryStep({ agent, hint }: { readonly agent: string; readonly hint: string }) {
  const [text, setText] = useState<string>(SETUP.tryText);
  const [answer, setAnswer] = useState<Answer & { readonly ms: number }>();
  const [busy, setBusy] = useState(false);
  const send = async () => {
    setBusy(true);
    setAnswer(undefined);
    const from = performance.now();
    try {
      const result = await request<Answer>("POST", "/api/admin/setup/try", { agent, text });
      setAnswer({ ...result, ms: performance.now() - from });
    } catch (error) {
      setAnswer({ ok: false, error: (error as ApiError).message, ms: performance.now() - from });
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      className="setup-fields"
      onSubmit={(event) => {
        event.preventDefault();
        if (!busy) void send();
      }}
    >
      <Field label={SETUP.tryTitle}>{(control) => <TextInput {...control} dir="auto" value={text} onChange={({ target }) => setText(target.value)} />}</Field>
      <div>
        <Button submit busy={busy}>
          {SETUP.send}
        </Button>
      </div>
      <div role="status">
        {answer?.ok === true && (
          <>
            <h2>{SETUP.answer}</h2>
            <p className="setup-answer" dir="auto">
              {answer.reply}
            </p>
            <Duration ms={answer.ms} />
          </>
        )}
        {answer !== undefined && answer.ok !== true && (
          <p className="form-error">
            {SETUP.noAnswer(answer.error ?? answer.status ?? "")} {hint}
          </p>
        )}
      </div>
    </form>
  );
}
