import type { Markup } from "@svc/sdk";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRender } from "./render.ts";

const { to } = createRender();
const dialects = ["plain", "html-telegram", "mrkdwn", "discord", "whatsapp"] as const;
const all = (markdown: string) => Object.fromEntries(dialects.map((dialect) => [dialect, to(dialect, markdown)]));

describe("each dialect", () => {
  it("writes bold, italic, struck and code in its own marks", () => {
    expect(all("**b** *i* _j_ ~~s~~ `c<d`")).toEqual({
      plain: "b i j s c<d",
      "html-telegram": "<b>b</b> <i>i</i> <i>j</i> <s>s</s> <code>c&lt;d</code>",
      mrkdwn: "*b* _i_ _j_ ~s~ `c&lt;d`",
      discord: "**b** *i* *j* ~~s~~ `c<d`",
      whatsapp: "*b* _i_ _j_ ~s~ `c<d`",
    });
  });

  it("writes code blocks with their language where there is one to write", () => {
    expect(all("```js\na < b && c\n\n  d\n```")).toEqual({
      plain: "a < b && c\n\n  d",
      "html-telegram": '<pre><code class="language-js">a &lt; b &amp;&amp; c\n\n  d</code></pre>',
      mrkdwn: "```\na &lt; b &amp;&amp; c\n\n  d\n```",
      discord: "```js\na < b && c\n\n  d\n```",
      whatsapp: "```\na < b && c\n\n  d\n```",
    });
  });

  it("writes links, and their address where it cannot hide it", () => {
    expect(all("[the *site*](https://a.test/x_y?a=1&b=2) https://b.test/x_y <me@c.test>")).toEqual({
      plain: "the site (https://a.test/x_y?a=1&b=2) https://b.test/x_y me@c.test",
      "html-telegram":
        '<a href="https://a.test/x_y?a=1&amp;b=2">the <i>site</i></a> <a href="https://b.test/x_y">https://b.test/x_y</a> <a href="mailto:me@c.test">me@c.test</a>',
      mrkdwn: "<https://a.test/x_y?a=1&amp;b=2|the _site_> <https://b.test/x_y|https://b.test/x_y> <mailto:me@c.test|me@c.test>",
      discord: "[the *site*](https://a.test/x_y?a=1&b=2) https://b.test/x_y me@c.test",
      whatsapp: "the _site_ (https://a.test/x_y?a=1&b=2) https://b.test/x_y me@c.test",
    });
  });

  it("writes headings, quotes, rules and pictures", () => {
    expect(all("# One **two**\n\n> a\n> > b\n\n---\n\n![pic](https://a.test/p.png)")).toEqual({
      plain: "One two\n\n> a\n> \n> b\n\n---\n\npic (https://a.test/p.png)",
      "html-telegram": '<b>One two</b>\n\n<blockquote>a\n\nb</blockquote>\n\n———\n\n<a href="https://a.test/p.png">pic</a>',
      mrkdwn: "*One two*\n\n> a\n> \n> b\n\n———\n\n<https://a.test/p.png|pic>",
      discord: "# One two\n\n> a\n> \n> b\n\n———\n\n[pic](https://a.test/p.png)",
      whatsapp: "*One two*\n\n> a\n> \n> b\n\n---\n\npic (https://a.test/p.png)".replace("---", "———"),
    });
  });

  it("writes lists with their numbers, levels and boxes", () => {
    expect(to("html-telegram", "- a\n  - b\n- [x] c\n- [ ] d")).toBe("• a\n  • b\n• ☑ c\n• ☐ d");
    expect(to("plain", "3. x\n4. y")).toBe("3. x\n4. y");
    expect(to("discord", "- a\n  1. b\n  2. c")).toBe("- a\n  1. b\n  2. c");
  });

  it("writes a table as aligned words, in a block where there is one", () => {
    const table = "| Name | n |\n|:--|--:|\n| **a&b** | 1 |\n| longer | 22 |";
    const lines = "Name      n\n------  ---\na&b       1\nlonger   22";
    expect(all(table)).toEqual({
      plain: lines,
      "html-telegram": `<pre>${lines.replace("&", "&amp;")}</pre>`,
      mrkdwn: `\`\`\`\n${lines.replace("&", "&amp;")}\n\`\`\``,
      discord: `\`\`\`\n${lines}\n\`\`\``,
      whatsapp: `\`\`\`\n${lines}\n\`\`\``,
    });
  });

  it("keeps line breaks, and takes markdown and HTML entities and escapes for what they mean", () => {
    expect(to("plain", "a\nb  \nc<br>d\\\ne")).toBe("a\nb\nc\nd\ne");
    expect(to("plain", "AT&amp;T &lt;b&gt; &#8364; &#x1F600; &unknown; &#0; &#xD800; &#x110000; \\*x\\*")).toBe(
      "AT&T <b> € 😀 &unknown; \ufffd \ufffd \ufffd *x*",
    );
  });

  it("does not nest a mark in itself", () => {
    expect(to("mrkdwn", "**a **b** c** ***d***")).toBe("*a b c* _*d*_");
    expect(to("html-telegram", "> a\n> > b\n> > > c")).toBe("<blockquote>a\n\nb\n\nc</blockquote>");
    expect(to("html-telegram", "# **a**")).toBe("<b>a</b>");
  });
});

describe("what could do harm", () => {
  it("comes out of html-telegram as known tags only, closed in order, whatever goes in", () => {
    const piece = fc.oneof(
      fc.constantFrom(
        "<b>",
        "</b>",
        "<script>",
        "&lt;",
        '"',
        "'",
        "**",
        "*",
        "_",
        "~~",
        "`",
        "```\n",
        "> ",
        "- ",
        "# ",
        "\n",
        "\n\n",
        "[a](",
        '](https://x.test/"><i>)',
        "<a href=x>",
        "| a |\n|--|\n",
        "&#60;b&#62;",
      ),
      fc.string({ maxLength: 8 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 25 }), (parts) => {
        const html = to("html-telegram", parts.join(""));
        const open: string[] = [];
        const rest = html.replace(/<(\/?)(b|i|s|u|code|pre|blockquote|a)( (?:href|class)="[^"<>]*")?>/g, (_, closing: string, tag: string) => {
          if (closing === "") open.push(tag);
          else expect(open.pop()).toBe(tag);
          return "";
        });
        expect(open).toEqual([]);
        expect(rest).not.toMatch(/[<>]|&(?!(?:amp|lt|gt|quot);)/);
      }),
      { numRuns: 2000 },
    );
  });

  it("links only addresses that can be opened without harm", () => {
    for (const address of ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "vbscript:x", "/relative"]) {
      for (const dialect of dialects) expect(to(dialect, `[word](${address})`)).toBe("word");
    }
    expect(to("html-telegram", '[w](<https://x.test/"onclick=x>)')).toBe('<a href="https://x.test/&quot;onclick=x">w</a>');
    expect(to("mrkdwn", "[w|v](<https://x.test/|<!channel>>)")).not.toMatch(/<!channel>/);
  });

  it("does not call a channel together in Slack by written words", () => {
    expect(to("mrkdwn", "<!channel> <@U1> `<!here>`")).toBe("&lt;!channel&gt; &lt;@U1&gt; `&lt;!here&gt;`");
  });

  it("keeps words that look like Discord markup as words", () => {
    expect(to("discord", "\\*a\\* snake_case_name a|b \\`c\\` 1 \\> 2\n\\# no")).toBe("\\*a\\* snake\\_case\\_name a\\|b \\`c\\` 1 \\> 2\n\\# no");
  });

  it("does not let a fence within code end the block", () => {
    for (const dialect of ["mrkdwn", "discord", "whatsapp"] as const) {
      expect(to(dialect, "````\n```\nx\n```\n````").match(/```/g)).toHaveLength(2);
    }
  });

  it("renders what is nested too deeply as its words", () => {
    for (const text of [`${">".repeat(20_000)}x<`, `${"- ".repeat(5000)}x<`, `${"*".repeat(5000)}a<${"*".repeat(5000)}`]) {
      for (const dialect of dialects) expect(to(dialect, text)).toContain(dialect === "html-telegram" || dialect === "mrkdwn" ? "&lt;" : "<");
    }
  });

  it("refuses a dialect it does not know, by whatever name", () => {
    for (const dialect of ["html", "", "__proto__", "constructor", "toString"]) {
      expect(() => to(dialect, "x")).toThrowError(expect.objectContaining({ code: "SVC_RENDER_DIALECT", message: expect.stringContaining("html-telegram") }));
    }
  });
});

it("hands markdown on as it is, with one kind of line end and without NUL", () => {
  expect(to("markdown", "**a**\r\n\tb\0\rc  \n")).toBe("**a**\n\tb\nc  \n");
});

describe("markup that a channel gives", () => {
  const wiki: Markup = {
    escapes: { words: { "[": "~[", "{{": "~{{" }, lineStart: { "*": "~*" }, label: { "|": "/" }, address: { "|": "%7C", " ": "+" } },
    bold: "'''{}'''",
    code: "{{{}}}",
    codeWithTicks: "<tt>{}</tt>",
    block: "<pre>\n{}\n</pre>",
    blockWithLanguage: "<pre {language}>\n{}\n</pre>",
    link: "[{address}|{}]",
    headings: ["= {} =", "== {} =="],
    quote: ": ",
    bullet: "*",
  };

  it("is written by its forms, and a form that it lacks leaves the words", () => {
    expect(to(wiki, "**b** *i* ~~s~~ `c{{` `` a`b ``")).toBe("'''b''' i s {{c{{}} <tt>a`b</tt>");
    expect(to(wiki, "# one\n\n## two\n\n#### four")).toBe("= one =\n\n== two ==\n\n== four ==");
    expect(to(wiki, "```js\n{} {address}\n```\n\n```\nx\n```")).toBe("<pre js>\n{} {address}\n</pre>\n\n<pre>\nx\n</pre>");
    expect(to(wiki, "> a\n> b\n\n- c\n- d\n\n---")).toBe(": a\n: b\n\n* c\n* d\n\n---");
    expect(to(wiki, "\\*a [b {{ *")).toBe("~*a ~[b ~{{ *");
    expect(to(wiki, "[the|words {}](https://a.test/x|y)")).toBe("[https://a.test/x%7Cy|the/words {}]");
    expect(to(wiki, "https://a.test/")).toBe("[https://a.test/|https://a.test/]");
    expect(to({ ...wiki, linkOnce: true }, "https://a.test/ <me@b.test>")).toBe("https://a.test/ me@b.test");
  });

  it("without any form is plain", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(to({}, text)).toBe(to("plain", text));
      }),
    );
  });
});
