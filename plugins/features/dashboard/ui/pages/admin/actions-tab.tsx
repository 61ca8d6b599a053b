import type { Schema } from "@svc/sdk";
import { useState } from "react";
import type { ApiError } from "../../data/api-error.ts";
import { useWriting } from "../../data/me.ts";
import { request } from "../../data/request.ts";
import { useResource } from "../../data/resource.ts";
import { navigate, useRoute } from "../../data/router.tsx";
import { SchemaForm } from "../../forms/schema-form.tsx";
import { Button } from "../../kit/button.tsx";
import { classes } from "../../kit/class-names.ts";
import { Code } from "../../kit/code.tsx";
import { SearchBox } from "../../kit/field.tsx";
import { Pane, Panes } from "../../kit/pane.tsx";
import { StateView } from "../../kit/state-view.tsx";
import { Duration, Mono } from "../../kit/values.tsx";
import { ADMIN } from "../../words/admin.ts";
import { PARTS } from "../../words/admin-parts.ts";

interface ActionFacts {
  readonly name: string;
  readonly description?: string;
  readonly input?: Schema;
  readonly own: boolean;
}

/** Actions that agents and workflows can use: what each one takes, and a try of it. */
export function ActionsTab() {
  const { data, error, loading, slow, reload, cancel } = useResource<{ actions: readonly ActionFacts[]; errors: readonly { file: string; error: string }[] }>(
    "/api/admin/actions",
  );
  const [filter, setFilter] = useState("");
  const { hash } = useRoute();
  const named = hash.split("/")[1];
  const actions = [...(data?.actions ?? [])].sort((one, other) => Number(other.own) - Number(one.own) || one.name.localeCompare(other.name));
  const shown = actions.filter(({ name }) => name.toLowerCase().includes(filter.trim().toLowerCase()));
  const open =
    actions.find(({ name }) => name === (named === undefined ? undefined : decodeURIComponent(named))) ?? (named === undefined ? actions[0] : undefined);
  return (
    <StateView
      loading={loading && data === undefined}
      slow={slow}
      error={data === undefined ? error : undefined}
      what="The actions"
      onRetry={reload}
      onCancel={cancel}
    >
      {named !== undefined && (
        <button type="button" className="admin-up form-link" onClick={() => navigate("#actions")}>
          Actions
        </button>
      )}
      <Panes shown={named === undefined ? 0 : 1}>
        <Pane className="admin-list" label="Actions" flush actions={<SearchBox value={filter} onChange={setFilter} label={ADMIN.filter} />}>
          <ul className="admin-items">
            {data?.errors.map((broken) => (
              <li key={broken.file} className="form-error admin-broken">
                {broken.file}: {broken.error}
              </li>
            ))}
            {shown.map(({ name, own }) => (
              <li key={name}>
                <button
                  type="button"
                  className={classes("admin-entry", name === open?.name && "admin-entry-on")}
                  aria-current={name === open?.name || undefined}
                  onClick={() => navigate(`#actions/${encodeURIComponent(name)}`)}
                >
                  <span className="admin-entry-name">
                    <span className="mono cut">{name}</span>
                    <span className="meta">{own ? PARTS.actionsOwn : PARTS.actionsBuiltIn}</span>
                  </span>
                </button>
              </li>
            ))}
          </ul>
          <p className="kit-state meta">{PARTS.addAction}</p>
        </Pane>
        {open === undefined ? (
          <Pane label={ADMIN.pick}>
            <p className="kit-state">{actions.length === 0 ? ADMIN.nothing.actions : ADMIN.pick}</p>
          </Pane>
        ) : (
          <TryPane key={open.name} action={open} />
        )}
      </Panes>
    </StateView>
  );
}

interface Tried {
  readonly output?: unknown;
  readonly failure?: string;
  readonly ms: number;
}

function TryPane({ action: { name, description, input } }: { readonly action: ActionFacts }) {
  const [value, setValue] = useState<unknown>({});
  const [busy, setBusy] = useState(false);
  const [tried, setTried] = useState<Tried>();
  const writing = useWriting();
  const run = async () => {
    setBusy(true);
    const from = performance.now();
    try {
      const output = await request("POST", `/api/admin/actions/${encodeURIComponent(name)}/run`, value ?? {});
      setTried({ output, ms: performance.now() - from });
    } catch (error) {
      setTried({ failure: (error as ApiError).message, output: (error as ApiError).details, ms: performance.now() - from });
    } finally {
      setBusy(false);
    }
  };
  return (
    <Pane className="admin-item" title={<Mono>{name}</Mono>} label={name}>
      {description !== undefined && <p className="admin-prose">{description}</p>}
      {input !== undefined && <SchemaForm schema={input} value={value} onChange={setValue} label={name} />}
      <div className="admin-try">
        <Button kind="primary" busy={busy} disabledWhy={writing.why} onClick={run}>
          {PARTS.tryIt}
        </Button>
        <span className="meta">{PARTS.tryNote}</span>
      </div>
      {tried !== undefined && (
        <div role="status">
          {tried.failure !== undefined && <p className="form-error">{tried.failure}</p>}
          <p className="meta">
            {PARTS.took} <Duration ms={tried.ms} />
          </p>
          <Code json={tried.output ?? null} label={PARTS.output} />
        </div>
      )}
    </Pane>
  );
}
