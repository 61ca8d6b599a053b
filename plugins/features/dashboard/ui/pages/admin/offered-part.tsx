import type { OfferedChannel } from "../../../admin/channel-view.ts";
import { Button } from "../../kit/button.tsx";
import { classes } from "../../kit/class-names.ts";
import { Glyph } from "../../kit/glyph.tsx";
import { Pane } from "../../kit/pane.tsx";
import { toast } from "../../kit/toast.ts";
import { Bytes, copyText, Mono } from "../../kit/values.tsx";
import { PARTS } from "../../words/admin-parts.ts";

/** What the fragment names: a section of svc.json may have the name of a channel that is not installed. */
export const idOfOffered = ({ name }: OfferedChannel): string => `not-installed-${name}`;

/** The channels of this release that are not installed, below those that are. */
export function OfferedList({
  channels,
  selected,
  onOpen,
}: {
  readonly channels: readonly OfferedChannel[];
  readonly selected: OfferedChannel | undefined;
  onOpen(id: string): void;
}) {
  return (
    <section aria-labelledby="admin-offered">
      <h2 id="admin-offered" className="admin-offered-title">
        {PARTS.notInstalled}
      </h2>
      <ul className="admin-items">
        {channels.map((channel) => {
          const on = channel.name === selected?.name;
          return (
            <li key={channel.name}>
              <button
                type="button"
                className={classes("admin-entry", on && "admin-entry-on")}
                aria-current={on || undefined}
                onClick={() => onOpen(idOfOffered(channel))}
              >
                <Glyph state="skipped" label={PARTS.notInstalled} />
                <span className="admin-entry-name">
                  <bdi className="cut">{channel.product ?? channel.name}</bdi>
                  <span className="meta mono cut">{channel.name}</span>
                </span>
                {channel.bytes !== undefined && (
                  <span className="meta">
                    <Bytes value={channel.bytes} />
                  </span>
                )}
              </button>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

/** What one is, how large, and the command that installs it: nothing is installed from a page. */
export function OfferedPane({ channel }: { readonly channel: OfferedChannel }) {
  const command = `svc connect ${channel.name}`;
  const name = channel.product ?? channel.name;
  const copy = async () => {
    await copyText(command);
    toast({ text: PARTS.commandCopied });
  };
  return (
    <Pane className="admin-item" title={name} label={name}>
      <div className="admin-offered">
        <Glyph state="skipped" word label={PARTS.notInstalled} />
        <p>{channel.summary}</p>
        <p className="meta">
          <Mono plain>{channel.package}</Mono>
          {channel.bytes !== undefined && (
            <>
              {", "}
              <Bytes value={channel.bytes} /> {PARTS.offeredSize}
            </>
          )}
        </p>
        {channel.because !== undefined && <p>{PARTS.offeredApart(channel.because)}</p>}
        <p>{PARTS.offeredDo}</p>
        <p className="admin-offered-command">
          <code>{command}</code>
          <Button onClick={copy}>{PARTS.copyCommand}</Button>
        </p>
      </div>
    </Pane>
  );
}
