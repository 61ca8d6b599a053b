import "../../../plugins/features/dashboard/ui/tokens.css";
import "../../../plugins/features/dashboard/ui/base.css";
import "../../../plugins/features/dashboard/ui/kit/kit.css";
import { useState } from "react";
import { createRoot } from "react-dom/client";
import { Glyph } from "../../../plugins/features/dashboard/ui/kit/glyph.tsx";
import { VirtualList } from "../../../plugins/features/dashboard/ui/kit/virtual-list.tsx";

const COUNT = 100_000;

function Stage() {
  const [selected, setSelected] = useState<number>();
  const [opened, setOpened] = useState<number>();
  return (
    <main style={{ display: "flex", flexDirection: "column", height: "100vh" }}>
      <h1>Rows, opened: {opened ?? "none"}</h1>
      <VirtualList
        count={COUNT}
        rowHeight={32}
        label="Rows"
        selected={selected}
        onSelect={setSelected}
        onOpen={setOpened}
        render={(index) => (
          <>
            <Glyph state={index % 7 === 0 ? "failed" : "ok"} />
            <span className="cut grow">Row number {index}, with a text that goes on for a while and is cut at its end</span>
            <span className="figure">{(index * 37) % 10_000} ms</span>
          </>
        )}
      />
    </main>
  );
}

createRoot(document.getElementById("app") as HTMLElement).render(<Stage />);
