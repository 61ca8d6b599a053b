import { PageHead } from "../../kit/page-head.tsx";

/** The page `/`. */
export default function BoardsPage() {
  return <PageHead title="Boards" />;
}
