import type { RecordFacts, Refusals } from '../../audit';
import type { Escrow } from '../../billing';
import { fromUnknown, monotonicMs, usageOf } from '../../kernel';
import { recordedFor } from '../../keys';
import { droppedCounts } from '../reply/svc-headers';
import { recorded } from './recorded-gates';
import type { RequestProgress } from './request-progress';
import type { SettledGates } from './settled-gates';

const { source: _source, ...nothingUsed } = usageOf({}, 'estimated');

/**
 * Records a request without an answer and without a charge: its tries and the reason. A refusal before any supplier
 * call is counted, and sampled as a record.
 */
export async function recordRefusal(
  { http: { caller, requestId, clientRequestId }, operation, inbound, call, tries, dropped }: RequestProgress,
  error: unknown,
  {
    refusals,
    escrow,
    gates,
  }: { readonly refusals: Refusals; readonly escrow: Escrow; readonly gates: SettledGates },
): Promise<void> {
  const { code, status, outcome } = fromUnknown(error);
  if (caller === undefined) return;
  if (tries.length === 0) {
    // The caller left; this is no refusal.
    if (outcome !== code) return;
    if (!refusals.count(caller.keyId, code)) return;
  }
  const last = tries.at(-1);
  const hold = escrow.tryHold({ requestId, amount: 0n, refs: [] });
  const record: RecordFacts = {
    ...recordedFor(caller),
    ...nothingUsed,
    surface: operation.name,
    // A name of no model is the caller's text, which may be anything.
    model: code === 'model_not_found' ? null : (call?.model ?? null),
    servedModel: last?.model ?? null,
    supplier: last?.supplier ?? null,
    region: last?.region ?? null,
    priceId: null,
    usageSource: 'none',
    costNano: 0n,
    status,
    code: outcome,
    stream: call?.stream ?? false,
    failover: tries.length > 1,
    attempts: tries.length > 0 ? tries : null,
    latencyMs: inbound === null ? 0 : Math.round(monotonicMs() - inbound.startedMs),
    firstTokenMs: null,
    finishReason: null,
    sessionKey: call?.session ?? null,
    dropped: droppedCounts(dropped),
    endUser: call?.endUser ?? null,
    tags: call?.tags ?? null,
    keyModelId: null,
    priceFactor: null,
    autoDecision: call?.auto?.explained(null) ?? null,
    clientRequestId,
    surcharges: null,
    gates: recorded(call?.gates),
    excess: null,
  };
  const kept = hold?.settle(record);
  if (hold !== null && kept !== undefined) gates.saw(hold, record, kept);
  // The failed request cost nothing: its caller gets the reason, even where it cannot be recorded.
  await kept?.catch(() => undefined);
}
