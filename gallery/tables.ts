import type { BadgeModel, RouteLineModel, RowModel, TableModel, TimelineModel } from '../src/views';

const today = '2026-11-20';
export const at = (clock: string): string => `${today}T${clock}Z`;
export const served = (supplier: string, region?: string): RouteLineModel => ({
  hops: [{ supplier, region, outcome: 'served' }],
});

export const failedOver: RouteLineModel = {
  hops: [
    { supplier: 'azure', region: 'eu-west-1', outcome: 'failed', reason: '429' },
    { supplier: 'direct', region: 'eu-west-2', outcome: 'served' },
  ],
};

export const unavailable: RouteLineModel = {
  hops: [
    { supplier: 'azure', outcome: 'skipped' },
    { supplier: 'bedrock', region: 'eu-central-1', outcome: 'failed', reason: 'timeout' },
  ],
};

function logRow(
  clock: string,
  model: string,
  key: string,
  route: RouteLineModel,
  overrides: LogRowOverrides,
): RowModel {
  return {
    cells: [
      { kind: 'clock', value: at(clock) },
      { kind: 'text', value: model, heading: true },
      { kind: 'text', value: key, minor: true },
      { kind: 'route', value: route, minor: true },
      { kind: 'compact', value: overrides.input, align: 'end', minor: true },
      { kind: 'compact', value: overrides.output, align: 'end', minor: true },
      { kind: 'cost', value: overrides.cost, align: 'end' },
      { kind: 'latency', value: overrides.duration, align: 'end', minor: true },
      { kind: 'badge', value: overrides.status, minor: true },
    ],
    detail: {
      id: `request-${clock.replaceAll(':', '')}`,
      name: `${clock} ${model}`,
      href: `?open=${clock}`,
      open: overrides.timeline !== undefined,
      items: [
        { label: 'Request', figure: { kind: 'copy', value: '0193a4c2-7be1-7c30-9f15-2d4b8c61e07a' } },
        { label: 'Status', figure: { kind: 'badge', value: overrides.status } },
        { label: 'Tokens per second', figure: { kind: 'number', value: 96 } },
        { label: 'Key', figure: { kind: 'text', value: key } },
      ],
      timeline: overrides.timeline,
    },
  };
}

interface LogRowOverrides {
  input: number | null;
  output: number | null;
  cost: string | null;
  duration: number;
  status: BadgeModel;
  timeline?: TimelineModel;
}

const attempts: TimelineModel = {
  items: [
    {
      title: 'azure · eu-west-1',
      tone: 'bad',
      badge: { tone: 'bad', label: '429 rate limited' },
      figure: { kind: 'latency', value: 212 },
      text: 'Next supplier: the limit of this one is used up.',
    },
    {
      title: 'direct · eu-west-2',
      tone: 'ok',
      badge: { tone: 'ok', label: '200 served' },
      figure: { kind: 'latency', value: 630 },
    },
  ],
};

export const ok: BadgeModel = { tone: 'ok', label: 'ok' };

export const log: TableModel = {
  caption: 'Latest requests',
  hasDetail: true,
  span: 10,
  columns: [
    { label: 'Time', sortHref: '?sort=time', sorted: 'descending' },
    { label: 'Model', sortHref: '?sort=model' },
    { label: 'Key', minor: true },
    { label: 'Route', minor: true },
    { label: 'In', align: 'end', minor: true },
    { label: 'Out', align: 'end', minor: true },
    { label: 'Cost', align: 'end', sortHref: '?sort=cost' },
    { label: 'Took', align: 'end', minor: true },
    { label: 'Status', minor: true },
  ],
  rows: [
    logRow('12:04:51', 'claude-sonnet', 'ci', served('bedrock', 'eu-central-1'), {
      ...{ input: 1284, output: 311, cost: '0.008517', duration: 1900, status: ok },
    }),
    logRow('12:04:12', 'gpt-large', 'app', failedOver, {
      ...{ input: 920, output: 77, cost: '0.003071', duration: 842, timeline: attempts },
      status: { tone: 'warn', label: 'moved' },
    }),
    logRow('12:03:40', 'claude-sonnet', 'batch', unavailable, {
      ...{ input: null, output: null, cost: null, duration: 60_212 },
      status: { tone: 'bad', label: 'failed' },
    }),
    logRow('12:02:58', 'mistral-medium', 'app', served('direct', 'eu-west-2'), {
      ...{ input: 214_882, output: 4096, cost: '0.114202', duration: 8240, status: ok },
    }),
  ],
  empty: { title: 'No requests yet', text: 'Send the first one with any of your keys.' },
};

export const models: TableModel = {
  caption: 'Cost by model, 1–20 November, UTC',
  compact: true,
  columns: [
    { label: 'Model' },
    { label: 'Requests', align: 'end' },
    { label: 'Input', align: 'end', minor: true },
    { label: 'Cost', align: 'end' },
    { label: 'Share', align: 'end', minor: true },
  ],
  rows: (
    [
      ['claude-sonnet', 21_004, 18_204_113, '88.1', 0.672],
      ['gpt-large', 18_877, 9_012_440, '31.62', 0.241],
      ['mistral-medium', 8_330, 2_204_871, '11.35', 0.087],
    ] as const
  ).map(([model, requests, input, cost, share]) => ({
    href: '#table',
    cells: [
      { kind: 'text', value: model, heading: true },
      { kind: 'number', value: requests, align: 'end' },
      { kind: 'compact', value: input, align: 'end', minor: true },
      { kind: 'money', value: cost, align: 'end' },
      { kind: 'percent', value: share, align: 'end', minor: true },
    ],
  })),
  totals: [
    { kind: 'text', value: 'Total' },
    { kind: 'number', value: 48_211, align: 'end' },
    { kind: 'compact', value: 29_421_424, align: 'end', minor: true },
    { kind: 'money', value: '131.07', align: 'end' },
    { kind: 'text', value: '', minor: true },
  ],
  empty: { title: 'Nothing in this period', text: 'Choose a longer one.' },
};
