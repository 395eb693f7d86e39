import type { LoggedRequest } from '../../audit';
import { totalTokens } from '../../kernel';
import { column, type EmptyModel, type Hop, type TableModel, tableOf, type Translate } from '../../views';

/** A few requests; the log shows the rest of each. */
export const requestTable = (
  rows: readonly LoggedRequest[],
  empty: EmptyModel,
  translate: Translate,
): TableModel =>
  tableOf(
    rows,
    {
      caption: translate('requests.latest'),
      columns: [
        column('requests.time', 'time', ({ createdAt }) => createdAt),
        column('requests.model', 'text', modelWords),
        column('requests.route', 'route', (entry) => ({ hops: hopsOf(entry) }), 'minor'),
        column('requests.tokens', 'compact', totalTokens, 'minor'),
        column('requests.cost', 'cost', ({ costNano }) => costNano, 'minor'),
        column('requests.latency', 'latency', ({ latencyMs }) => latencyMs, 'minor'),
        column('requests.status', 'badge', (entry) => statusOf(entry, translate)),
      ],
      row: ({ requestId }) => ({ href: `/dashboard/request-log?request_id=${requestId}` }),
      empty,
    },
    translate,
  );

function modelWords({ servedModel, model }: LoggedRequest): string {
  const shown = servedModel ?? model ?? '–';
  return model !== null && model !== shown ? `${model} → ${shown}` : shown;
}

function hopsOf({ attempts, supplier, region, code }: LoggedRequest): Hop[] {
  const hops = (attempts ?? []).map((attempt, place, all): Hop => {
    const isServed = place === all.length - 1 && code === null;
    return {
      supplier: attempt.supplier,
      ...(attempt.region === null ? {} : { region: attempt.region }),
      outcome: isServed ? 'served' : 'failed',
    };
  });
  if (hops.length > 0 || supplier === null) return hops;
  return [{ supplier, ...(region === null ? {} : { region }), outcome: code === null ? 'served' : 'failed' }];
}

function statusOf({ code, failover }: LoggedRequest, translate: Translate) {
  if (code !== null) return { tone: 'bad' as const, label: code };
  return failover
    ? { tone: 'info' as const, label: translate('requests.moved') }
    : { tone: 'ok' as const, label: translate('requests.ok') };
}
