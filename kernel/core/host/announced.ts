import type { Capability, Manifest } from "@svc/sdk";
import type { HostedPlugin } from "./hosted-plugin.ts";

type Plugins = readonly HostedPlugin[];

const TIER = "tier-";

/** A plugin's own declarations, from its manifest, or from its code where it is passed in code. */
const announced = ({ source: { manifest, plugin } }: HostedPlugin): Pick<Manifest, "default" | "strategies"> => manifest ?? plugin ?? {};

const usable = (plugins: Plugins): Plugins => plugins.filter(({ state }) => state !== "disabled");

/** The tier names that known plugins provide. */
export const tierNamesOf = (plugins: Plugins): string[] => [
  ...new Set(usable(plugins).flatMap(({ id }) => (id.startsWith(TIER) ? [id.slice(TIER.length)] : []))),
];

/** Returns the default tier, for agents without one; undefined where no known plugin declares it. */
export const defaultTierOf = (plugins: Plugins): string | undefined =>
  usable(plugins)
    .find((one) => one.id.startsWith(TIER) && announced(one).default === true)
    ?.id.slice(TIER.length);

/** Ways to build a context that known plugins bring. */
export const strategiesOf = (plugins: Plugins): string[] => [...new Set(usable(plugins).flatMap((one) => announced(one).strategies ?? []))];

/** Returns the default strategy, for a configuration without one. */
export const defaultStrategyOf = (plugins: Plugins): string | undefined =>
  usable(plugins)
    .map(announced)
    .find((one) => one.default === true && one.strategies !== undefined)?.strategies?.[0];

/** The capabilities that loaded plugins declare. */
export const declaredBy = (plugins: Plugins): Capability[] => [...new Set(plugins.flatMap(({ plugin }) => plugin?.capabilities ?? []))];

/** The sections of plugins that are not loaded, or switched off. */
export const dormantOf = (plugins: Plugins): { at: string; owner: string }[] =>
  plugins.flatMap(({ plugin, source: { manifest }, id }) =>
    plugin !== undefined || manifest?.section === undefined ? [] : [{ at: manifest.section, owner: id }],
  );
