import type { LoggedRequest } from '../../audit';
import { totalTokens } from '../../kernel';
import type { ColumnModel, Hop, RowModel, Translate } from '../../views';

export const requestColumns = (translate: Translate): ColumnModel[] => [
  { label: translate('requests.time') },
  { label: translate('requests.model') },
  { label: translate('requests.route'), minor: true },
  { label: translate('requests.tokens'), align: 'end', minor: true },
  { label: translate('requests.cost'), align: 'end', minor: true },
  { label: translate('requests.latency'), align: 'end', minor: true },
  { label: translate('requests.status') },
];

/** It is one request in a short list; the log shows the rest of it. */
export function requestRow(entry: LoggedRequest, translate: Translate): RowModel {
  const { servedModel, model } = entry;
  const shown = servedModel ?? model ?? '–';
  return {
    href: `/dashboard/request-log?request_id=${entry.requestId}`,
    cells: [
      { kind: 'time', value: entry.createdAt, heading: true },
      { kind: 'text', value: model !== null && model !== shown ? `${model} → ${shown}` : shown },
      { kind: 'route', value: { hops: hopsOf(entry) }, minor: true },
      { kind: 'compact', value: totalTokens(entry), align: 'end', minor: true },
      { kind: 'cost', value: entry.costNano, align: 'end', minor: true },
      { kind: 'latency', value: entry.latencyMs, align: 'end', minor: true },
      { kind: 'badge', value: statusOf(entry, translate) },
    ],
  };
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
