import { type CliHost, type CommandGroup, svcError } from "@svc/sdk";
import type { DeliveryRow } from "./delivery-log.ts";
import type { Receipt } from "./receiver.ts";
import type { WebhookView } from "./routes.ts";

const group: CommandGroup = {
  name: "webhook",
  summary: "Incoming webhooks: what there is, what came in, send a test",
  commands: [
    {
      name: "list",
      args: "",
      summary: "All webhooks with their path, whether they are signed, and their last delivery",
      async run(_args, _options, cli) {
        const { webhooks } = (await cli.request("GET", "/webhooks")) as { webhooks: readonly WebhookView[] };
        cli.print(webhooks.map(lineOf).join("\n") || "There are no webhooks; add one to the section webhooks of svc.json.", webhooks);
      },
    },
    {
      name: "show",
      args: "<id>",
      summary: "A webhook and what came in, newest first",
      options: [{ flags: "--limit <count>", description: "how many deliveries (default 20)", number: { least: 1, most: 500 } }],
      async run([id = ""], { limit = 20 }, cli) {
        const shown = (await cli.request("GET", `/webhooks/${encodeURIComponent(id)}/deliveries?limit=${limit}`)) as {
          webhook: WebhookView;
          deliveries: readonly DeliveryRow[];
        };
        cli.print(
          [lineOf(shown.webhook), ...(shown.deliveries.length > 0 ? shown.deliveries.map(deliveryLine) : ["Nothing has come in yet."])].join("\n"),
          shown,
        );
      },
    },
    {
      name: "test",
      args: "<id>",
      summary: "Send a delivery that is signed as the sender would: the agent works on it",
      options: [{ flags: "--body <json>", description: 'a JSON object to send (default {"type":"test"})' }],
      async run([id = ""], { body }, cli: CliHost) {
        const sent = body === undefined ? { type: "test" } : objectOf(String(body));
        const receipt = (await cli.request("POST", `/webhooks/${encodeURIComponent(id)}/test`, sent)) as Receipt;
        cli.print(`Accepted as ${receipt.taskId ?? receipt.runId}; see svc webhook show ${id}`, receipt);
      },
    },
    {
      name: "replay",
      args: "<delivery>",
      summary: "Work on a delivery again, by the settings of now: its id as svc webhook show tells it",
      options: [{ flags: "--webhook <id>", description: "only a delivery of this webhook" }],
      async run([delivery = ""], { webhook }, cli) {
        const receipt = (await cli.request("POST", "/webhooks/replay", { delivery, ...(webhook === undefined ? {} : { webhook }) })) as Receipt;
        cli.print(`Accepted as ${receipt.taskId ?? receipt.runId}`, receipt);
      },
    },
  ],
};
export default group;

function objectOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Said below, as for JSON that is no object.
  }
  throw svcError("SVC_CLI_USAGE", '--body must be a JSON object, such as \'{"type":"push"}\'.');
}

const SECRETS = {
  none: "unsigned: anyone who reaches it can start the agent",
  set: "signed",
  missing: "refuses everything: the variable of secretEnv is not set",
};

const lineOf = ({ id, path, enabled, secret, last }: WebhookView): string =>
  `${id}  POST ${path}  ${enabled ? SECRETS[secret] : "off"}${last === undefined ? "" : `  last ${last.state} ${iso(last.at)}`}`;

const iso = (at: number): string => new Date(at).toISOString();

const deliveryLine = ({ at, state, event, delivery, bytes, taskId, runId, workflow, replayOf, error }: DeliveryRow): string =>
  `${iso(at)}  ${state}  ${[event, delivery, `${bytes} bytes`, taskId, workflow, runId, replayOf && `replay of ${replayOf}`, error].filter(Boolean).join("  ")}`;
