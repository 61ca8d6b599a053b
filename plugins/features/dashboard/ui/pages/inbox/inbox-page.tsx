import { PageHead } from "../../kit/page-head.tsx";

/** The page `/inbox`. */
export default function InboxPage() {
  return <PageHead title="Inbox" />;
}
