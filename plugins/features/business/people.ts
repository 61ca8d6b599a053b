import type { People, Person, Project } from "@svc/sdk";
import { superiorsIn } from "./chart.ts";
import { Contacts } from "./contacts.ts";
import type { BusinessSettings, EntrySettings } from "./settings.ts";
import { daysOf, workingAt } from "./window.ts";

/** Creates the service `people` of one section. A contact without a client has that of its project. */
export function createPeople({ timezone = "UTC", orgChart = {}, projects = [], contactMap = [] }: BusinessSettings): People {
  const persons = new Map(Object.entries(orgChart).map(([id, entry]) => [id, personOf(id, entry, timezone)]));
  const byProject = new Map<string, Project>(projects.map((project) => [project.id, project]));
  const contacts = new Contacts(contactMap);
  return {
    list: () => [...persons.values()],
    get: (id) => persons.get(id),
    rolesOf: (id) => persons.get(id)?.roles ?? [],
    withRole: (role) => [...persons.values()].filter(({ roles }) => roles.includes(role)).map(({ id }) => id),
    superiorsOf: (id) => superiorsIn((one) => persons.get(one)?.reportsTo, id),
    working(id, at = new Date()) {
      const window = persons.get(id)?.workingWindow;
      return window === undefined ? undefined : workingAt(window, at.getTime());
    },
    projects: () => [...byProject.values()],
    project: (id) => byProject.get(id),
    whois(address) {
      const contact = contacts.find(address);
      const client = contact?.client ?? byProject.get(contact?.project ?? "")?.client;
      return contact === undefined || client === undefined ? contact : { ...contact, client };
    },
  };
}

function personOf(id: string, { role = [], reportsTo, workingWindow }: EntrySettings, timezone: string): Person {
  return {
    id,
    roles: typeof role === "string" ? [role] : role,
    ...(reportsTo === undefined ? {} : { reportsTo }),
    ...(workingWindow === undefined
      ? {}
      : {
          workingWindow: {
            start: workingWindow.start,
            end: workingWindow.end,
            days: daysOf(workingWindow.days),
            timezone: workingWindow.timezone ?? timezone,
            ...(workingWindow.utilization === undefined ? {} : { utilization: workingWindow.utilization }),
          },
        }),
  };
}
