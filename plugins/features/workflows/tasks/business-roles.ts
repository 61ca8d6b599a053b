import type { Settings } from "@svc/sdk";

/**
 * The roles that the business chart of svc.json gives an actor (WF-09): under a key of `business`, one entry for each agent or person with
 * a `role`. Without the section nobody has one.
 */
export async function rolesOf(settings: Pick<Settings, "read">, actor: string): Promise<readonly string[]> {
  const { document } = await settings.read();
  const charts = Object.values(objectOf(document["business"])).map(objectOf);
  return charts.flatMap((chart) => {
    const entry = Object.hasOwn(chart, actor) ? objectOf(chart[actor]) : {};
    const { role } = entry;
    if (typeof role === "string") return [role];
    return Array.isArray(role) ? role.filter((one): one is string => typeof one === "string") : [];
  });
}

const objectOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
