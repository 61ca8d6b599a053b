import type { ChannelTraits, Markup, Render } from "@svc/sdk";

/** Renderer for channels: also knows dialect names that only compiled channels use. */
export interface ChannelRender extends Render {
  readonly former?: Readonly<Record<string, Markup>>;
  /** The name may be one that the API no longer has. Throws `SVC_RENDER_DIALECT` for a name that there is not. */
  to(form: string | Markup, markdown: string): string;
}

/** Traits that decide how a text is split and rendered. The name of the dialect may be one that the API no longer has. */
export interface TextTraits extends Pick<ChannelTraits, "maxChars" | "unit" | "lines" | "markup"> {
  readonly dialect?: string;
}
