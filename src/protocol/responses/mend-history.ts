import { isReadable, type JsonObject, type Mended, opened, Tally, type Target } from '../canonical';
import { isRecord } from '../usage';

/** A caller's own request without encrypted reasoning of other lanes. Null: there is none. */
export function mendResponses({ input }: Readonly<JsonObject>, { reads }: Target): Mended | null {
  if (!Array.isArray(input)) return null;
  const tally = new Tally();
  const items = (input as readonly unknown[]).filter((item, at) => {
    if (!isRecord(item) || item.type !== 'reasoning' || typeof item.encrypted_content !== 'string')
      return true;
    // Reasoning that was sealed here came from a lane of another dialect.
    const isOwn = isReadable(opened(item.encrypted_content, '', 'responses'), 'responses', reads);
    if (!isOwn) tally.dropped(`input.${at}`, 'encrypted reasoning of another lane');
    return isOwn;
  });
  return items.length === input.length ? null : { set: { input: items }, remove: [], dropped: tally.list() };
}
