import type { LoggedRequest } from '../../audit';
import { totalTokens } from '../../kernel';
import {
  column,
  type EmptyModel,
  type HopModel,
  type TableModel,
  tableOf,
  type Translate,
} from '../../views';

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
        column('requests.model', 'text', modelText),
        column('requests.route', 'route', (entry) => ({ hops: toHops(entry) }), 'minor'),
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

function modelText({ servedModel, model }: LoggedRequest): string {
  const servedName = servedModel ?? model ?? '–';
  return model !== null && model !== servedName ? `${model} → ${servedName}` : servedName;
}

function toHops({ attempts, supplier, region, code }: LoggedRequest): HopModel[] {
  const hops = (attempts ?? []).map((attempt, index, all): HopModel => {
    const isServed = index === all.length - 1 && code === null;
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
