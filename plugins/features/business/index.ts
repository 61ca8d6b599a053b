import { definePlugin, routeTo } from "@svc/sdk";
import { businessLayer } from "./context-layer.ts";
import { GATE_VARIABLE, isGateOn, judge } from "./gate.ts";
import { createPeople } from "./people.ts";
import { BUSINESS, type BusinessSettings, checkBusiness } from "./settings.ts";

/** Before plugins that choose an agent by the message's words. */
const FIRST = -1_000;

/** People of the business (001:L250): chart, projects and contacts, as the service `people`; and the gate of the project managers. */
export default definePlugin<BusinessSettings>({
  kind: "feature",
  name: "business",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "business", schema: BUSINESS, check: checkBusiness },
  capabilities: ["agents", `env:${GATE_VARIABLE}`, "services"],
  setup(ctx) {
    const people = createPeople(ctx.config);
    ctx.provide.service("people", people);
    ctx.hooks.assembleContext.tap((context, turn) => {
      const layer = businessLayer(turn, people);
      return layer === undefined ? context : { ...context, layers: [...context.layers, layer] };
    });
    // A changed section counts from the next start of the daemon on. Started anew at a reload, the plugin would take it in, and leave the gate open meanwhile.
    const stays = { async reload() {} };
    const value = ctx.env(GATE_VARIABLE);
    if (!isGateOn(value)) {
      // Values such as 1 or TRUE do not switch it on: warn.
      if (value !== undefined && value !== "false") ctx.log.warn({ value }, `${GATE_VARIABLE} is not exactly 'true': the gate of project managers is off`);
      return stays;
    }
    const gate = { people, isAgent: (id: string) => ctx.agents.get(id) !== undefined };
    ctx.hooks.inbound.tap(
      (message) => {
        const verdict = judge(message, gate);
        return "reject" in verdict ? verdict : undefined;
      },
      { stage: FIRST, required: true },
    );
    ctx.hooks.route.tap(
      (message) => {
        const verdict = judge(message, gate);
        return "pm" in verdict ? routeTo(verdict.pm, message) : undefined;
      },
      { stage: FIRST, required: true },
    );
    return stays;
  },
});
