import type { ChannelPairing } from "@svc/sdk";
import { type FormEvent, useCallback, useEffect, useState } from "react";
import type { ApiError } from "../../data/api-error.ts";
import { request } from "../../data/request.ts";
import { Button } from "../../kit/button.tsx";
import { ConfirmDialog } from "../../kit/dialog.tsx";
import { Field, TextInput } from "../../kit/field.tsx";
import { Glyph } from "../../kit/glyph.tsx";
import { Segmented } from "../../kit/tabs.tsx";
import { PAIRING } from "../../words/pairing.ts";

const LOOK_MS = 1_000;
/** Light modules around the picture: without them no camera finds it. */
const MARGIN = 4;

/** Links a phone: shows the picture or the code as long as the platform offers one, and says what has come of it. */
export function PairPart({ path, onLinked }: { readonly path: string; onLinked(): void }) {
  const [pairing, setPairing] = useState<ChannelPairing>();
  const [failure, setFailure] = useState<string>();
  const [way, setWay] = useState<"picture" | "code">("picture");
  const [number, setNumber] = useState("");
  const [wrong, setWrong] = useState<string>();
  const [kept, setKept] = useState<string>();
  const [unlinking, setUnlinking] = useState(false);
  const [busy, setBusy] = useState(false);
  const look = useCallback(async () => {
    try {
      setPairing(await request<ChannelPairing>("GET", path));
      setFailure(undefined);
    } catch (error) {
      setFailure((error as ApiError).message);
    }
  }, [path]);
  useEffect(() => {
    let current = true;
    const again = () => void look().finally(() => current && setTimeout(() => current && again(), LOOK_MS));
    again();
    return () => {
      current = false;
    };
  }, [look]);
  const state = pairing?.state;
  useEffect(() => {
    if (state === "open") onLinked();
  }, [state, onLinked]);
  const begin = async (event: FormEvent) => {
    event.preventDefault();
    const given = number.trim();
    if (way === "code" && given === "") return setWrong(PAIRING.numberMissing);
    setBusy(true);
    setWrong(undefined);
    setKept(undefined);
    try {
      setPairing(await request<ChannelPairing>("POST", path, way === "code" ? { number: given } : {}));
    } catch (error) {
      setWrong((error as ApiError).message);
    } finally {
      setBusy(false);
    }
  };
  const unlink = async () => {
    setUnlinking(false);
    setBusy(true);
    try {
      setKept((await request<{ kept: string }>("DELETE", path)).kept);
      await look();
    } catch (error) {
      setFailure((error as ApiError).message);
    } finally {
      setBusy(false);
    }
  };
  const why = pairing?.cause === undefined ? pairing?.reason : PAIRING.causes[pairing.cause];
  return (
    <div className="admin-talk">
      <h3>{PAIRING.title}</h3>
      <div role="status">
        {failure !== undefined && <p className="form-error">{failure}</p>}
        {kept !== undefined && <p>{PAIRING.unlinked(kept)}</p>}
        {state === "open" && <Glyph state="ok" word label={PAIRING.open(pairing?.number ?? "")} />}
        {state === "connecting" && <Glyph state="running" word label={PAIRING.connecting} />}
        {state === "pairing" && pairing?.picture === undefined && pairing?.code === undefined && <Glyph state="running" word label={PAIRING.asking} />}
        {state === "pairing" && pairing?.picture !== undefined && <p>{PAIRING.scan}</p>}
        {state === "down" && <p className="form-error">{why}</p>}
        {state === "unpaired" && kept === undefined && (
          <p className={pairing?.cause === undefined ? "" : "form-error"}>{pairing?.cause === undefined ? PAIRING.none : why}</p>
        )}
        {pairing?.code !== undefined && (
          <>
            <p>{PAIRING.type}</p>
            <p className="admin-pair-code mono" role="img" aria-label={`${PAIRING.code}: ${[...pairing.code].join(" ")}`}>
              {pairing.code.slice(0, 4)}-{pairing.code.slice(4)}
            </p>
          </>
        )}
      </div>
      {pairing?.picture !== undefined && <Picture rows={pairing.picture} />}
      {(state === "unpaired" || state === "pairing") && (
        <form onSubmit={begin} className="admin-talk-question" aria-label={PAIRING.title}>
          <Segmented
            choices={[
              { id: "picture" as const, label: PAIRING.byPicture },
              { id: "code" as const, label: PAIRING.byCode },
            ]}
            selected={way}
            onSelect={(next) => {
              setWay(next);
              setWrong(undefined);
            }}
            label={PAIRING.way}
          />
          {way === "code" ? (
            <Field label={PAIRING.number} hint={PAIRING.numberHint} error={wrong}>
              {(control) => <TextInput {...control} type="tel" autoComplete="off" value={number} onChange={(event) => setNumber(event.target.value)} />}
            </Field>
          ) : (
            wrong !== undefined && <p className="form-error">{wrong}</p>
          )}
          <Button kind={state === "unpaired" ? "primary" : undefined} submit busy={busy}>
            {state === "unpaired" && pairing?.cause === undefined ? PAIRING.begin : PAIRING.again}
          </Button>
        </form>
      )}
      {(state === "open" || state === "down") && (
        <Button busy={busy} onClick={() => setUnlinking(true)}>
          {PAIRING.unlink}
        </Button>
      )}
      <ConfirmDialog
        title={PAIRING.unlinkTitle}
        action={PAIRING.unlink}
        danger
        open={unlinking}
        onClose={() => setUnlinking(false)}
        onConfirm={() => void unlink()}
      >
        <p>{PAIRING.unlinkText}</p>
      </ConfirmDialog>
    </div>
  );
}

/** The picture, dark on light in both themes: cameras want it so. */
function Picture({ rows }: { readonly rows: readonly string[] }) {
  const size = rows.length + 2 * MARGIN;
  const dark = rows.flatMap((row, y) => [...row].map((module, x) => (module === "1" ? `M${x + MARGIN} ${y + MARGIN}h1v1h-1z` : ""))).join("");
  return (
    <svg className="admin-pair-picture" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={PAIRING.picture} shapeRendering="crispEdges">
      <rect width={size} height={size} fill="#fff" />
      <path d={dark} fill="#000" />
    </svg>
  );
}
