import { useState } from "react";
import type { ApiError } from "../../data/api-error.ts";
import { useWriting } from "../../data/me.ts";
import { request } from "../../data/request.ts";
import { useResource } from "../../data/resource.ts";
import { Link } from "../../data/router.tsx";
import { valueAt } from "../../forms/form-path.ts";
import { Button } from "../../kit/button.tsx";
import { Code } from "../../kit/code.tsx";
import { Glyph, stateOf } from "../../kit/glyph.tsx";
import { toast } from "../../kit/toast.ts";
import { Ago, Mono } from "../../kit/values.tsx";
import { PARTS } from "../../words/admin-parts.ts";
import type { WebhookFacts } from "./live-facts.ts";

interface Delivery {
  readonly id: string;
  readonly at: number;
  readonly state: string;
  readonly taskId?: string;
  readonly [fact: string]: unknown;
}

/** Where a webhook is reached, whether it is signed, what came in, and a test. */
export function WebhookPart({ webhook, value, onChanged }: { readonly webhook: WebhookFacts | undefined; readonly value: unknown; onChanged(): void }) {
  const [busy, setBusy] = useState(false);
  const [open, setOpen] = useState<string>();
  const writing = useWriting();
  const path = webhook === undefined ? undefined : `/api/admin/webhooks/${encodeURIComponent(webhook.id)}`;
  const log = useResource<{ deliveries: readonly Delivery[] }>(path === undefined ? undefined : `${path}/deliveries?limit=50`, {
    refreshOn: ({ kind }) => kind === "task",
  });
  const test = async () => {
    setBusy(true);
    try {
      await request("POST", `${path}/test`, { test: true, text: "A test from the dashboard." });
      toast({ text: PARTS.testSent });
    } catch (error) {
      toast({ text: (error as ApiError).message, kind: "error" });
    } finally {
      setBusy(false);
      log.reload();
      onChanged();
    }
  };
  const unsigned = webhook === undefined ? valueAt(value, ["secretEnv"]) === undefined : webhook.secret === "none";
  const deliveries = log.data?.deliveries ?? [];
  return (
    <section className="admin-part" aria-label={PARTS.log}>
      <div className="admin-facts">
        {webhook !== undefined && (
          <span>
            {PARTS.address} <Mono>{webhook.path}</Mono>
          </span>
        )}
        <span className={unsigned ? "form-warning" : "meta"}>
          {webhook?.secret === "missing" ? PARTS.missingSecret : unsigned ? PARTS.unsigned : PARTS.signed}
        </span>
        <Button busy={busy} disabledWhy={writing.why ?? (webhook === undefined ? PARTS.saveFirst : undefined)} onClick={test}>
          {PARTS.sendTest}
        </Button>
      </div>
      {deliveries.length === 0 ? (
        <p className="meta">{PARTS.noRequest}</p>
      ) : (
        <ul className="admin-log">
          {deliveries.map((delivery) => (
            <li key={delivery.id}>
              <button
                type="button"
                className="admin-log-row"
                aria-expanded={open === delivery.id}
                onClick={() => setOpen(open === delivery.id ? undefined : delivery.id)}
              >
                <Ago at={delivery.at} clock />
                <Glyph state={stateOf(delivery.state)} word label={delivery.state} />
                <span className="mono cut grow">{delivery.id}</span>
              </button>
              {open === delivery.id && (
                <div className="admin-log-body">
                  {typeof delivery.taskId === "string" && <Link to={`/tasks/${delivery.taskId}`}>{PARTS.task}</Link>}
                  <Code json={delivery} label={PARTS.body} />
                </div>
              )}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
