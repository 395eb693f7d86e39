import type { AttemptRecord } from '../../audit';
import type { Escrow } from '../../billing';
import { type ErrorCode, fromUnknown, monotonicMs, usageOf } from '../../kernel';
import type { Call } from './describe';
import type { Inbound } from './inbound';

/** Refusals that somebody will ask about, though no supplier was called. */
const worthShowing: ReadonlySet<ErrorCode> = new Set([
  'budget_exceeded',
  'billing_limit_reached',
  'capacity_exceeded',
  'model_not_allowed',
  'model_not_accessible',
  'no_providers_available',
  'sovereign_route_unavailable',
  'supplier_price_unresolved',
]);

const { source: _source, ...nothingUsed } = usageOf({}, 'estimated');

/** Puts a request on record that ended without an answer and without a charge: what was tried, and why it failed. */
export async function recordRefusal(
  inbound: Inbound,
  call: Call,
  error: unknown,
  attempts: readonly AttemptRecord[],
  escrow: Escrow,
): Promise<void> {
  const { code, status, outcome } = fromUnknown(error);
  if (attempts.length === 0 && !worthShowing.has(code)) return;
  const last = attempts.at(-1);
  const hold = escrow.tryHold({ requestId: inbound.requestId, amount: 0n, refs: [] });
  await hold?.settle({
    ...inbound.caller.attribution,
    ...nothingUsed,
    surface: call.surface.name,
    model: call.model,
    servedModel: last?.model ?? null,
    supplier: last?.supplier ?? null,
    region: last?.region ?? null,
    priceId: null,
    usageSource: 'none',
    costNano: 0n,
    status,
    code: outcome,
    stream: call.stream,
    failover: attempts.length > 1,
    attempts: attempts.length > 0 ? attempts : null,
    latencyMs: Math.round(monotonicMs() - inbound.startedMs),
    firstTokenMs: null,
    finishReason: null,
    sessionKey: call.session,
    dropped: null,
  });
}
