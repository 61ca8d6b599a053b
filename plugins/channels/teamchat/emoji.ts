/** The platform's names of emoji used as acknowledgements. */
const NAMES: Readonly<Record<string, string>> = {
  "👀": "eyes",
  "👍": "+1",
  "👌": "ok_hand",
  "✅": "white_check_mark",
  "✔": "heavy_check_mark",
  "❌": "x",
  "⏳": "hourglass_flowing_sand",
  "⌛": "hourglass",
  "🤔": "thinking_face",
  "🎉": "tada",
  "❤": "heart",
  "🔥": "fire",
  "🚀": "rocket",
  "🙏": "pray",
  "👏": "clap",
  "💯": "100",
  "🤖": "robot_face",
  "🫡": "saluting_face",
  "✍": "writing_hand",
  "⚡": "zap",
  "📝": "memo",
  "⚠": "warning",
};

/** The name of an emoji, given itself, its name, or its name between colons; undefined for one that has none here. */
export function emojiName(emoji: string): string | undefined {
  const bare = emoji.replace(/^:|:$/g, "");
  if (/^[a-z0-9_+'-]+$/.test(bare)) return bare;
  return NAMES[emoji.replace(/\ufe0f/g, "")];
}
