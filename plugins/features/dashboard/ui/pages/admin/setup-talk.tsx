import { type FormEvent, useEffect, useState } from "react";
import type { SetupView } from "../../../admin/channel-setups.ts";
import type { ApiError } from "../../data/api-error.ts";
import { request } from "../../data/request.ts";
import { Button } from "../../kit/button.tsx";
import { Field, TextInput } from "../../kit/field.tsx";
import { Glyph } from "../../kit/glyph.tsx";
import { PARTS } from "../../words/admin-parts.ts";

const LOOK_MS = 300;

/** Asks the questions of a channel's own set-up, one at a time, until it has written the settings, or failed. */
export function SetupTalk({
  channel,
  server: usualServer,
  onWritten,
}: {
  readonly channel: string;
  /** The address of the server, where another than the public one can be set. */
  readonly server?: string;
  onWritten(view: SetupView): void;
}) {
  const [view, setView] = useState<SetupView>();
  const [server, setServer] = useState(usualServer ?? "");
  const [value, setValue] = useState("");
  const [failure, setFailure] = useState<string>();
  const id = view?.id;
  const step = async (work: Promise<SetupView>) => {
    setFailure(undefined);
    try {
      setView(await work);
    } catch (error) {
      setFailure((error as ApiError).message);
    }
  };
  // Closed in the middle: nothing is left that waits.
  useEffect(() => {
    if (id === undefined) return undefined;
    return () => void request("DELETE", `/api/admin/setups/${id}`).catch(() => {});
  }, [id]);
  const { state, question } = view ?? {};
  const working = state === "working";
  useEffect(() => {
    if (!working) return undefined;
    let current = true;
    const look = async () => {
      try {
        const now = await request<SetupView>("GET", `/api/admin/setups/${id}`);
        if (!current) return;
        setView(now);
        if (now.state === "asking") setValue(now.question?.usual ?? "");
        if (now.state !== "working") return;
      } catch (error) {
        if (current) setFailure((error as ApiError).message);
        return;
      }
      setTimeout(() => current && void look(), LOOK_MS);
    };
    void look();
    return () => {
      current = false;
    };
  }, [working, id]);
  useEffect(() => {
    if (view?.state === "done") onWritten(view);
  }, [view, onWritten]);
  const begin = () => {
    setView(undefined);
    return step(request<SetupView>("POST", `/api/admin/channels/${encodeURIComponent(channel)}/setup`, server.trim() === "" ? {} : { server: server.trim() }));
  };
  const answer = (event: FormEvent) => {
    event.preventDefault();
    if (question === undefined) return;
    const said = value;
    setValue("");
    void step(request<SetupView>("POST", `/api/admin/setups/${id}/answer`, { number: question.number, value: said }));
  };
  return (
    <div className="admin-talk">
      {view === undefined && usualServer !== undefined && (
        <Field label={PARTS.connectServer} hint={PARTS.connectServerHint}>
          {(control) => <TextInput {...control} value={server} onChange={(event) => setServer(event.target.value)} />}
        </Field>
      )}
      {view !== undefined && view.said.length > 0 && (
        <pre className="admin-talk-said" tabIndex={0} role="log" aria-label={PARTS.connectSays}>
          {view.said.join("\n")}
        </pre>
      )}
      {state === "asking" && question !== undefined && (
        <form key={question.number} onSubmit={answer} className="admin-talk-question">
          {question.choices === undefined ? (
            <Field label={question.text} hint={question.secret ? (question.kept ? PARTS.connectSecretKept : PARTS.connectSecretHint) : undefined}>
              {(control) => (
                <TextInput
                  {...control}
                  autoFocus
                  type={question.secret ? "password" : "text"}
                  autoComplete={question.secret ? "new-password" : "off"}
                  value={value}
                  onChange={(event) => setValue(event.target.value)}
                />
              )}
            </Field>
          ) : (
            <fieldset className="admin-talk-choices">
              <legend>{question.text}</legend>
              {question.choices.map((choice) => (
                <label key={choice.id} className="form-check">
                  <input type="radio" name="choice" checked={value === choice.id} onChange={() => setValue(choice.id)} />
                  <bdi>{choice.label}</bdi>
                </label>
              ))}
            </fieldset>
          )}
          <Button kind="primary" submit>
            {PARTS.connectAnswer}
          </Button>
        </form>
      )}
      <div role="status">
        {working && <Glyph state="running" word label={PARTS.connectChecks} />}
        {(failure ?? view?.error) !== undefined && <p className="form-error admin-talk-error">{failure ?? view?.error}</p>}
      </div>
      {(view === undefined || state === "failed" || failure !== undefined) && (
        <Button kind={view === undefined ? "primary" : undefined} onClick={begin}>
          {view === undefined ? PARTS.connectBegin : PARTS.connectAgain}
        </Button>
      )}
    </div>
  );
}
