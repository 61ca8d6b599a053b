import { PageHead } from "../../kit/page-head.tsx";

/** The page `/workflows/editor`. */
export default function EditorPage() {
  return <PageHead title="Editor" />;
}
