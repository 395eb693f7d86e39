import type { RecordAttributes, Refusals } from '../../audit';
import type { Escrow } from '../../billing';
import { fromUnknown, monotonicMs, usageOf } from '../../kernel';
import { recordedAttribution } from '../../keys';
import { droppedCounts } from '../reply/svc-headers';
import { recordedGates } from './recorded-gates';
import type { RequestProgress } from './request-progress';
import type { SettledGates } from './settled-gates';

const { source: _source, ...noUsage } = usageOf({}, 'estimated');

/**
 * Records a request that got no response and no charge. A refusal before any supplier call is counted, and only a
 * sample is recorded.
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
    // A caller who disconnected was not refused.
    if (outcome !== code) return;
    if (!refusals.count(caller.keyId, code)) return;
  }
  const last = tries.at(-1);
  const hold = escrow.tryHold({ requestId, amount: 0n, refs: [] });
  const record: RecordAttributes = {
    ...recordedAttribution(caller),
    ...noUsage,
    surface: operation.name,
    // An unknown model name is the caller's text, which could be anything.
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
    autoDecision: call?.auto?.explain(null) ?? null,
    clientRequestId,
    surcharges: null,
    gates: recordedGates(call?.gates),
    excess: null,
  };
  const settled = hold?.settle(record);
  if (hold !== null && settled !== undefined) gates.show(hold, record, settled);
  // The failed request cost nothing, so the caller gets its error even if it cannot be recorded.
  await settled?.catch(() => undefined);
}
