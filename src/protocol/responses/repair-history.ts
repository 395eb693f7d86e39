import {
  isReadable,
  type JsonObject,
  type RequestRepair,
  unsealReasoning,
  Tally,
  type EncodingTarget,
} from '../canonical';
import { isRecord } from '../usage';

/** Removes encrypted reasoning of other lanes from a caller's request. Null if there is none. */
export function repairResponsesRequest(
  { input }: Readonly<JsonObject>,
  { reads }: EncodingTarget,
): RequestRepair | null {
  if (!Array.isArray(input)) return null;
  const tally = new Tally();
  const items = (input as readonly unknown[]).filter((item, at) => {
    if (!isRecord(item) || item.type !== 'reasoning' || typeof item.encrypted_content !== 'string')
      return true;
    // Reasoning sealed by this gateway came from a lane of another dialect.
    const isAccepted = isReadable(
      unsealReasoning(item.encrypted_content, '', 'responses'),
      'responses',
      reads,
    );
    if (!isAccepted) tally.dropped(`input.${at}`, 'encrypted reasoning of another lane');
    return isAccepted;
  });
  return items.length === input.length ? null : { set: { input: items }, remove: [], dropped: tally.list() };
}
