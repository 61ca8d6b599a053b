import type { Inbound, People } from "@svc/sdk";

/** Subject of an entry. */
export interface Matter {
  readonly project: string;
  readonly subject: string;
}

/** Longer names are no names of people; a key holds them all the same. */
const MOST = 1_000;

/**
 * Returns the subject of a message: the topic that its entry has verified and that calls inherit, else the project of the contact who writes, with
 * the chat as the subject. Undefined if neither is known.
 */
export function matterOf({ channel, chat, account, thread, sender, options }: Inbound, people: Pick<People, "whois"> | undefined): Matter | undefined {
  const { project, subject } = options?.topic ?? {};
  if (project !== undefined && subject !== undefined) return { project: project.slice(0, MOST), subject: subject.slice(0, MOST) };
  if (options?.askedBy !== undefined) return undefined;
  const handle = sender?.handle === undefined ? {} : { username: sender.handle };
  const contact = people?.whois({ channel, chat, ...(sender === undefined ? {} : { sender: sender.id, ...handle }) });
  if (contact?.project === undefined) return undefined;
  const place = [channel, ...(account === undefined ? [] : [account]), chat, ...(thread === undefined ? [] : [thread])];
  return { project: contact.project, subject: place.join(" ").slice(0, MOST) };
}
