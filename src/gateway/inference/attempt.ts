import type { AttemptRecord } from '../../audit';
import type { PricedLane } from '../../catalogue';
import { type Fault, fault, fromUnknown, monotonicMs } from '../../kernel';
import { Settings } from '../../platform';
import type { AnswerHead, SupplierClient, SupplierExchange } from '../../routing';
import type { Admission } from './admit';
import type { Call } from './describe';
import type { Inbound } from './inbound';

export interface Answered {
  readonly route: PricedLane;
  readonly head: AnswerHead;
  readonly exchange: SupplierExchange;
  readonly attempts: readonly AttemptRecord[];
}

/** Sends the request down the lanes until one answers; every try is remembered, whatever came of it. */
export async function attempt(
  inbound: Inbound,
  call: Call,
  { lanes }: Admission,
  client: SupplierClient,
  settings: Settings,
): Promise<Answered> {
  const attempts: AttemptRecord[] = [];
  let last: Fault = fault('no_providers_available');
  for (const route of lanes) {
    const { lane } = route;
    const startedMs = monotonicMs();
    const note = (status: number | null, outcome: string): void => {
      const milliseconds = Math.round(monotonicMs() - startedMs);
      attempts.push({
        supplier: lane.provider.name,
        region: lane.region,
        model: lane.upstreamModel,
        status,
        milliseconds,
        outcome,
      });
    };
    try {
      const exchange = client.send(lane, '/v1/chat/completions', inbound.bytes, {
        firstByteMs: call.stream
          ? settings.supplierStreamFirstByteTimeoutMs
          : settings.supplierFirstByteTimeoutMs,
        idleMs: settings.supplierIdleTimeoutMs,
        totalMs: settings.supplierTotalTimeoutMs,
      });
      const head = await exchange.head;
      note(head.status, 'answered');
      return { route, head, exchange, attempts };
    } catch (error) {
      last = fromUnknown(error);
      note(null, last.code);
    }
  }
  throw last;
}
