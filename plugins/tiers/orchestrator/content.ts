import { type MediaReader, recentHistory, type TurnContext, turnText } from "@svc/sdk";
import type { ModelMessage, SystemModelMessage } from "ai";

/** The stable preamble, marked for the cache of the APIs that want to be asked. */
export function systemOf({ system }: TurnContext): { system?: SystemModelMessage } {
  if (system === "") return {};
  return { system: { role: "system", content: system, providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } } } };
}

/** The bounded history, then the turn: its pictures, then its words. A picture that cannot be passed on is named in the words. */
export async function messagesOf(reader: MediaReader, context: TurnContext): Promise<ModelMessage[]> {
  const { pictures, note } = await reader.pictures(context.media);
  return [
    // An empty text is no message to the APIs.
    ...recentHistory(context.history.filter(({ text }) => text.trim() !== "")).map(({ role, text }) => ({ role, content: text })),
    {
      role: "user",
      content: [
        ...pictures.map(({ data, type }) => ({ type: "image" as const, image: data, mediaType: type })),
        { type: "text", text: turnText(context) + note },
      ],
    },
  ];
}
