import { Link, useRoute } from "../data/router.tsx";
import { PageHead } from "../kit/page-head.tsx";
import { PanelView, usePanels } from "../kit/panel-view.tsx";
import { SHELL } from "../words/shell.ts";

/** The page `/panels/<id>` of a panel that a plugin provides. */
export default function PanelPage() {
  const { params } = useRoute();
  const panel = usePanels("page").find(({ id }) => id === params.id);
  if (panel !== undefined)
    return (
      <>
        <PageHead title={panel.title} />
        <PanelView panel={panel} />
      </>
    );
  return (
    <>
      <PageHead title={SHELL.panel} />
      <div className="kit-state">
        <p>{SHELL.panelGone}</p>
        <Link to="/plugins">{SHELL.toPlugins}</Link>
      </div>
    </>
  );
}
