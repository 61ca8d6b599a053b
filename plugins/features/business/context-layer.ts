import type { Layer, People, Turn } from "@svc/sdk";

/** After the landscape, before the identity. */
const PRIORITY = 3.6;
const MOST_REPORTS = 20;

/** Layer with the agent's place in the chart and the author of the message; undefined without either. */
export function businessLayer({ agent, messages: [message] }: Pick<Turn, "agent" | "messages">, people: People): Layer | undefined {
  const lines = [...placeOf(agent.id, people), ...writerOf(message, people)];
  return lines.length === 0 ? undefined : { name: "business", priority: PRIORITY, text: ["Business:", ...lines].join("\n") };
}

function placeOf(id: string, people: People): readonly string[] {
  const named = (one: string) => {
    const roles = people.rolesOf(one);
    return roles.length === 0 ? one : `${one} (${roles.join(", ")})`;
  };
  const person = people.get(id);
  const reports = people.list().filter(({ reportsTo }) => reportsTo === id);
  const shown = reports.slice(0, MOST_REPORTS).map((one) => named(one.id));
  const led = people.projects().filter(({ pm }) => pm === id);
  return [
    ...(person === undefined || person.roles.length === 0 ? [] : [`- Your role: ${person.roles.join(", ")}`]),
    ...(person?.reportsTo === undefined ? [] : [`- You report to ${named(person.reportsTo)}`]),
    ...(shown.length === 0
      ? []
      : [`- They report to you: ${shown.join(", ")}${reports.length > shown.length ? `, and ${reports.length - shown.length} more` : ""}`]),
    ...(led.length === 0 ? [] : [`- You manage the projects: ${led.slice(0, MOST_REPORTS).map(projectName).join(", ")}`]),
  ];
}

const projectName = ({ id, client }: { readonly id: string; readonly client?: string }): string => (client === undefined ? id : `${id} (for ${client})`);

function writerOf({ channel, chat, sender, options }: Turn["messages"][0], people: People): readonly string[] {
  if (options?.askedBy !== undefined) return [];
  const contact = people.whois({
    channel,
    chat,
    ...(sender === undefined ? {} : { sender: sender.id, ...(sender.handle === undefined ? {} : { username: sender.handle }) }),
  });
  if (contact === undefined) return [];
  const { displayName, client, project } = contact;
  const pm = people.project(project ?? "")?.pm;
  const facts = [
    ...(client === undefined ? [] : [`client ${client}`]),
    ...(project === undefined ? [] : [`project ${project}${pm === undefined ? "" : `, managed by ${pm}`}`]),
  ];
  return displayName === undefined && facts.length === 0 ? [] : [`- The message comes from ${[displayName ?? "a contact", ...facts].join(", ")}`];
}
