import type { Markup, Render } from "@svc/sdk";

/** What renders for channels: also the markup of names that only compiled channels give. */
export interface ChannelRender extends Render {
  readonly former?: Readonly<Record<string, Markup>>;
}
