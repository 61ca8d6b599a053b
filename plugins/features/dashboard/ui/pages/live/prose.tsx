import type { ReactNode } from "react";
import "./prose.css";

/** A text as people and agents write it: paragraphs, fenced code, code in a line, bold. Nothing else of Markdown is drawn, nothing is lost. */
export function Prose({ text }: { readonly text: string }) {
  return (
    <div className="live-prose" dir="auto">
      {blocksOf(text).map(({ code, text: block }, at) =>
        code ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: a text grows at its end, its blocks have no other name
          <pre key={at} className="live-prose-code" tabIndex={0} role="region" aria-label="Code">
            {block}
          </pre>
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: as above
          <p key={at} dir="auto">
            {inline(block)}
          </p>
        ),
      )}
    </div>
  );
}

interface Block {
  readonly code: boolean;
  readonly text: string;
}

function blocksOf(text: string): readonly Block[] {
  const blocks: Block[] = [];
  let lines: string[] = [];
  let fence: string | undefined;
  const close = (code: boolean) => {
    const block = lines.join("\n");
    lines = [];
    if (code || block.trim() !== "") blocks.push({ code, text: code ? block : block.trim() });
  };
  for (const line of text.split("\n")) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence === undefined && mark !== undefined) {
      close(false);
      fence = mark;
    } else if (fence !== undefined && mark !== undefined && mark[0] === fence[0] && mark.length >= fence.length && line.trim() === mark) {
      close(true);
      fence = undefined;
    } else if (fence === undefined && line.trim() === "") close(false);
    else lines.push(line);
  }
  close(fence !== undefined);
  return blocks;
}

/** `code` and **bold** of a paragraph. */
function inline(text: string): readonly ReactNode[] {
  return text.split(/(`[^`\n]+`|\*\*[^*\n]+\*\*)/).map((part, at) => {
    if (part.length > 2 && part.startsWith("`") && part.endsWith("`")) {
      // biome-ignore lint/suspicious/noArrayIndexKey: pieces of a text have no other name
      return <code key={at}>{part.slice(1, -1)}</code>;
    }
    if (part.length > 4 && part.startsWith("**") && part.endsWith("**")) {
      // biome-ignore lint/suspicious/noArrayIndexKey: as above
      return <strong key={at}>{part.slice(2, -2)}</strong>;
    }
    return part;
  });
}
