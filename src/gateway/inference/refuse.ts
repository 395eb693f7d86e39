import type { Refusals } from '../../audit';
import type { Escrow } from '../../billing';
import { fromUnknown, monotonicMs, usageOf } from '../../kernel';
import { recordedFor } from '../../keys';
import type { RequestProgress } from './request-progress';

const { source: _source, ...nothingUsed } = usageOf({}, 'estimated');

/**
 * Puts on record what was tried for a request without an answer and without a charge, and why it failed. One that was
 * refused before a supplier was asked is counted, and is a record where its turn comes.
 */
export async function recordRefusal(
  { http: { caller, requestId }, operation, inbound, call, tries }: RequestProgress,
  error: unknown,
  refusals: Refusals,
  escrow: Escrow,
): Promise<void> {
  const { code, status, outcome } = fromUnknown(error);
  if (caller === undefined) return;
  if (tries.length === 0) {
    // Left by its caller, and not refused.
    if (outcome !== code) return;
    if (!refusals.count(caller.keyId, code)) return;
  }
  const last = tries.at(-1);
  const hold = escrow.tryHold({ requestId, amount: 0n, refs: [] });
  const kept = hold?.settle({
    ...recordedFor(caller),
    ...nothingUsed,
    surface: operation.name,
    // A name that stands for no model is text of the caller's, which may be anything.
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
    dropped: null,
    endUser: call?.endUser ?? null,
    tags: call?.tags ?? null,
    keyModelId: null,
    priceFactor: null,
    autoDecision: call?.auto?.explained(null) ?? null,
  });
  // It cost nothing: the caller hears why it was refused, also where that cannot be put on record.
  await kept?.catch(() => undefined);
}
