import { describe, expect, it } from "vitest";
import { HostedPlugin } from "./hosted-plugin.ts";
import type { PluginIncident } from "./incident.ts";
import { type PluginState, TRANSITIONS } from "./plugin-states.ts";

const STATES = Object.keys(TRANSITIONS) as PluginState[];

/** A shortest way from `known` to a state. */
const WAYS: Readonly<Record<PluginState, readonly PluginState[]>> = {
  known: [],
  disabled: ["disabled"],
  failed: ["failed"],
  quarantined: ["quarantined"],
  loaded: ["loaded"],
  running: ["loaded", "running"],
  stopped: ["loaded", "stopped"],
};

const move = (plugin: HostedPlugin, to: PluginState): void => (to === "failed" || to === "quarantined" ? plugin.move(to, `why ${to}`) : plugin.move(to));

function pluginIn(state: PluginState, incidents: PluginIncident[] = []): HostedPlugin {
  const plugin = new HostedPlugin({ id: "feature-x", from: "inline" }, {}, (incident) => incidents.push(incident));
  for (const next of WAYS[state]) move(plugin, next);
  return plugin;
}

describe.each(STATES)("a plugin that is %s", (from) => {
  it.each(STATES)("becomes %s where the table has that transition, and is left as it was where not", (to) => {
    const plugin = pluginIn(from);
    const before = { state: plugin.state, reason: plugin.reason };
    if (TRANSITIONS[from].includes(to)) {
      move(plugin, to);
      expect({ state: plugin.state, reason: plugin.reason }).toEqual({ state: to, reason: to === "failed" || to === "quarantined" ? `why ${to}` : undefined });
    } else {
      expect(() => move(plugin, to)).toThrow(`it is ${from}`);
      expect({ state: plugin.state, reason: plugin.reason }).toEqual(before);
    }
  });
});

it("a failure and a quarantine are each one incident, and a quarantined plugin keeps no code", () => {
  const incidents: PluginIncident[] = [];
  const plugin = pluginIn("known", incidents);
  plugin.fail("section", "no port");
  plugin.quarantine("process", "it ended too often");
  expect(incidents).toEqual([
    { plugin: "feature-x", what: "section", reason: "no port", consequence: "failed" },
    { plugin: "feature-x", what: "process", reason: "it ended too often", consequence: "quarantined" },
  ]);
  expect(plugin).toMatchObject({ state: "quarantined", isBarred: true });
  expect(plugin.plugin).toBeUndefined();
});
