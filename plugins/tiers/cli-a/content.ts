import { type MediaReader, type TurnContext, turnText } from "@svc/sdk";
import type { Fields } from "@svc/sdk/engine";

/** The turn as content blocks: pictures first, then the words. A picture that cannot be passed on is named in the words. */
export async function contentOf(reader: MediaReader, context: TurnContext): Promise<Fields[]> {
  const { pictures, note } = await reader.pictures(context.media);
  const shown = pictures.map(({ data, type }) => ({ type: "image", source: { type: "base64", media_type: type, data: Buffer.from(data).toString("base64") } }));
  return [...shown, { type: "text", text: turnText(context) + note }];
}
