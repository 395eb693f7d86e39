import {
  barChart,
  lineChart,
  meter,
  scatterChart,
  type ScatterInput,
  type ScatterModel,
  spark,
  formatMoney,
  formatNumber,
  requestSnippets,
  type ChartInput,
  type ChartModel,
  type ViewContext,
} from '../src/views';
import { galleryForms, type GalleryForms } from './forms';
import { at, log, models, failedOver, ok, served, unavailable } from './tables';
import type {
  BadgeModel,
  BannerModel,
  DiffModel,
  EmptyModel,
  LabelledFigure,
  MessageModel,
  MeterModel,
  PagerModel,
  PeriodPickerModel,
  RouteLineModel,
  TableModel,
  TabsModel,
  TileModel,
  TimelineModel,
  ToastModel,
} from '../src/views';

/** Every partial in all its states, with realistic figures. Development only. */
export interface GalleryModel extends GalleryForms {
  shell: Required<Pick<ViewContext, 'navigation' | 'viewer' | 'adminStrip'>>;
  sections: { id: string; name: string }[];
  tiles: TileModel[];
  statStrip: { items: LabelledFigure[] };
  log: TableModel;
  emptyTable: TableModel;
  models: TableModel;
  period: PeriodPickerModel;
  pager: PagerModel;
  lastPage: PagerModel;
  badges: BadgeModel[];
  routes: RouteLineModel[];
  meters: MeterModel[];
  bars: ChartModel;
  lines: ChartModel;
  plot: ScatterModel | null;
  sparks: { points: string }[];
  empties: EmptyModel[];
  banners: BannerModel[];
  toasts: ToastModel[];
  tabs: TabsModel;
  facts: { items: LabelledFigure[] };
  diff: DiffModel;
  timeline: TimelineModel;
  messages: MessageModel[];
}

const dollars = (value: number): string => formatMoney('en', value.toFixed(2));

/** Page shell around the gallery. */
const shell: GalleryModel['shell'] = {
  viewer: { name: 'Anna Becker', email: 'anna@acme.example', organisation: 'Acme GmbH' },
  adminStrip: {
    organisation: 'Acme GmbH',
    leaveAction: '#admin-strip',
    organisations: [
      { value: '', label: 'All organisations', selected: false },
      { value: '1', label: 'Acme GmbH', selected: true },
    ],
  },
  navigation: [
    {
      items: [
        { label: 'Overview', href: '#tile', icon: 'overview', current: true },
        { label: 'Keys', href: '#secret-once', icon: 'key' },
        { label: 'Models', href: '#table', icon: 'model' },
        { label: 'Usage', href: '#chart', icon: 'usage' },
        { label: 'Requests', href: '#table', icon: 'log' },
        { label: 'Activity', href: '#timeline', icon: 'activity' },
        { label: 'Autorouter', href: '#route-line', icon: 'route' },
        { label: 'Quality', href: '#badge', icon: 'quality' },
        { label: 'Chat', href: '#message', icon: 'chat' },
      ],
    },
    {
      label: 'Account',
      items: [
        { label: 'Billing', href: '#money-field', icon: 'billing' },
        { label: 'Settings', href: '#field', icon: 'settings' },
        { label: 'Help', href: '#empty', icon: 'help' },
      ],
    },
  ],
};

const partialNames = [
  ...['shell', 'nav', 'admin-strip', 'page-head', 'tile', 'stat-strip', 'card', 'table', 'filter-bar'],
  ...[
    'period-picker',
    'pager',
    'badge',
    'route-line',
    'meter',
    'chart',
    'scatter',
    'empty',
    'banner',
    'toast',
    'field',
  ],
  ...[
    'money-field',
    'checklist-picker',
    'secret-once',
    'snippet-tabs',
    'dialog',
    'confirm',
    'tabs',
    'kv-list',
  ],
  ...['diff', 'timeline', 'message'],
];

const daysOfNovember = Array.from({ length: 30 }, (_, day) => `${day + 1} Nov`);
/** High on weekdays and low at weekends, as in real usage. */
const week = [1, 1.1, 0.95, 1.2, 0.9, 0.25, 0.2];
const spend = (scale: number, drift: number): number[] =>
  daysOfNovember.map((_, day) => Math.round(scale * (week[day % 7] ?? 1) * (1 + drift * day) * 100) / 100);

const around = (value: number, margin: number) => ({ value, low: value - margin, high: value + margin });

const qualityAndCost: ScatterInput = {
  title: 'Quality and cost',
  xLabel: 'Mean cost of an answer',
  yLabel: 'Mean score with its 95 % range',
  formatX: dollars,
  formatY: String,
  points: [
    { name: 'mistral-medium', slot: 3, x: around(0.004, 0.0004), y: around(61, 6) },
    { name: 'gpt-large', slot: 2, x: around(0.021, 0.002), y: around(82, 4) },
    { name: 'claude-sonnet', slot: 1, x: around(0.038, 0.003), y: around(85, 3) },
  ],
  path: {
    name: 'The dial from 0 to 10; ringed: 5',
    stops: [
      { label: '0', x: 0.034, y: 86, current: false },
      { label: '5', x: 0.02, y: 83, current: true },
      { label: '10', x: 0.006, y: 66, current: false },
    ],
  },
};

function charts(): Pick<GalleryModel, 'bars' | 'lines' | 'plot' | 'sparks'> {
  const cost: ChartInput = {
    title: 'Spend per day by model',
    labels: daysOfNovember,
    pointLabel: 'Day',
    totalLabel: 'Total',
    format: dollars,
    series: [
      { name: 'claude-sonnet', values: spend(2.6, 0.01) },
      { name: 'gpt-large', values: spend(1.4, 0.02) },
      { name: 'mistral-medium', values: spend(0.7, -0.01) },
      { name: 'other', values: spend(0.3, 0), slot: 8 },
    ],
  };
  const latency: ChartInput = {
    title: 'Latency per day',
    labels: daysOfNovember,
    pointLabel: 'Day',
    totalLabel: null,
    format: (value) => `${formatNumber('en', value)} s`,
    series: [
      { name: 'p95', values: spend(2.2, 0.004) },
      { name: 'First token', values: spend(0.6, 0) },
    ],
  };
  return {
    bars: barChart(cost),
    lines: lineChart(latency),
    plot: scatterChart(qualityAndCost),
    sparks: [spark(spend(2, 0.02)), spark(spend(1, -0.02))],
  };
}

const wallet = meter({
  label: 'Budget of the month',
  used: 131n,
  limit: 200n,
  text: '$131.07 of $200.00',
  note: 'resets 1 Dec, 00:00 UTC',
});

const meters: MeterModel[] = [
  wallet,
  meter({ label: 'Budget of key ci', used: 92n, limit: 100n, text: '92% of $20.00', note: 'resets in 6 h' }),
  meter({ label: 'Budget of key batch', used: 104n, limit: 100n, text: '$52.00 of $50.00 – stopped' }),
  meter({ label: 'Requests this minute', used: 0n, limit: 60n, text: '0 of 60 a minute' }),
];

const tiles: TileModel[] = [
  { label: 'Wallet', figure: { kind: 'money', value: '182.4' }, meter: wallet, href: '#meter' },
  {
    label: 'Spend, 30 days',
    figure: { kind: 'money', value: '131.07' },
    change: { tone: 'neutral', icon: 'arrow-up', text: '8%' },
    spark: spark(spend(2, 0.02)),
    note: '30 days before: $121.36',
  },
  {
    label: 'Requests',
    figure: { kind: 'number', value: 48_211 },
    change: { tone: 'ok', icon: 'arrow-down', text: '0.4% failed' },
    spark: spark(spend(1, -0.01)),
    note: '1.1% moved to another supplier',
  },
  {
    label: 'Time, 95th percentile',
    figure: { kind: 'latency', value: 2400 },
    spark: spark(spend(3, 0)),
    note: 'First token 0.6 s',
  },
];

const empties: EmptyModel[] = [
  {
    title: 'No keys yet',
    text: 'A key lets an application call models, within the limits you give it.',
    action: { label: 'New key', href: '#secret-once' },
    code: 'curl https://gateway.example/v1/models -H "Authorization: Bearer $SVC_API_KEY"',
  },
  {
    title: 'No request matches',
    text: 'Period: last 7 days. Model: gpt-large. Status: failed.',
    action: { label: 'Clear the filters', href: '#empty', quiet: true },
  },
  {
    title: 'Only owners see this',
    text: 'Ask Anna Becker, the owner of Acme GmbH, for the role “administrator”.',
  },
];

const banners: BannerModel[] = [
  {
    tone: 'warn',
    text: 'Key “ci” has used 92% of $20.00. It resets in 6 hours.',
    action: { label: 'Open the key', href: '#banner' },
  },
  {
    tone: 'bad',
    title: 'The payment was refused.',
    text: 'Use another card, or ask your bank.',
    code: 'payment_required',
    requestId: '0193a4c2-7be1-7c30-9f15-2d4b8c61e07a',
  },
  { tone: 'info', text: 'From 1 December the price of gpt-large is $2.50 per million input tokens.' },
  { tone: 'ok', text: 'Your email address is verified.' },
];

const messages: MessageModel[] = [
  {
    role: 'user',
    author: 'You',
    blocks: [{ text: 'Turn this invoice into JSON: number 2026-118, 412.00 EUR.' }],
  },
  {
    role: 'assistant',
    author: 'claude-sonnet',
    blocks: [
      { text: 'Here is the structure, with the amount as a string so that no cent is lost.' },
      { language: 'json', code: '{\n  "number": "2026-118",\n  "amount": "412.00",\n  "currency": "EUR"\n}' },
    ],
    route: served('bedrock', 'eu-central-1'),
    ...{ tokens: 311, price: '0.008517', duration: 1900 },
  },
  {
    role: 'assistant',
    author: 'gpt-large',
    badge: { tone: 'warn', label: 'incomplete' },
    blocks: [{ text: 'The second line of the invoice names' }],
    route: unavailable,
    ...{ tokens: 9, price: '0.000084', duration: 30_400 },
  },
];

const timeline: TimelineModel = {
  items: [
    { title: 'Key “ci” reached 80% of its budget', tone: 'warn', at: at('11:48:03') },
    {
      title: 'Anna Becker added credit',
      tone: 'ok',
      figure: { kind: 'money', value: '50' },
      at: at('09:12:44'),
    },
    { title: 'Key “batch” was created', tone: 'neutral', text: 'Project Web, region EU', at: at('08:30:00') },
  ],
};

const diff: DiffModel = {
  caption: 'Changes to claude-sonnet',
  rows: [
    { field: 'Input price', before: '$2.80', after: '$3.00', kind: 'changed' },
    { field: 'Alias', after: 'sonnet-latest', kind: 'added' },
    { field: 'Region', before: 'us-east-1', kind: 'removed' },
  ],
};

const statStrip: GalleryModel['statStrip'] = {
  items: [
    { label: 'Duration', figure: { kind: 'latency', value: 1900 } },
    { label: 'First token', figure: { kind: 'latency', value: 412 } },
    { label: 'Tokens', figure: { kind: 'compact', value: 1595 } },
    { label: 'Cost', figure: { kind: 'cost', value: 8_517_000n } },
    { label: 'Cached', figure: { kind: 'percent', value: 0.4 } },
  ],
};

const tabs: TabsModel = {
  label: 'Model administration',
  items: [
    { label: 'Models', href: '#tabs', current: true, count: 24 },
    { label: 'Providers', href: '#tabs', count: 6 },
    { label: 'Prices', href: '#tabs' },
    { label: 'Aliases', href: '#tabs' },
  ],
};

const facts: GalleryModel['facts'] = {
  items: [
    { label: 'Key', figure: { kind: 'copy', value: 'svc_ab12…9f' } },
    { label: 'Status', figure: { kind: 'badge', value: ok } },
    { label: 'Created', figure: { kind: 'date', value: at('08:30:00') } },
    { label: 'Last used', figure: { kind: 'time', value: at('12:04:51') } },
    { label: 'Project', figure: { kind: 'link', value: 'Web', href: '#kv-list' } },
    { label: 'Expires', figure: { kind: 'date', value: null } },
  ],
};

const period: PeriodPickerModel = {
  zone: 'UTC',
  options: [
    { label: '7 days', href: '?days=7' },
    { label: '30 days', href: '?days=30', current: true },
    { label: '90 days', href: '?days=90' },
  ],
};

export function galleryModel(baseUrl = 'http://127.0.0.1:3000'): GalleryModel {
  const snippets = requestSnippets({
    ...{
      id: 'gallery',
      label: 'Languages',
      baseUrl,
      key: '$SVC_API_KEY',
      model: 'claude-sonnet',
      largeModel: 'claude-opus',
    },
  });
  return {
    ...galleryForms(snippets),
    ...charts(),
    ...{ statStrip, tabs, facts, period },
    ...{ shell, tiles, log, models, meters, empties, banners, messages, timeline, diff },
    sections: partialNames.map((name) => ({ id: name, name })),
    emptyTable: { ...log, rows: [] },
    pager: {
      label: 'Pages of requests',
      summary: 'Requests 51–100',
      newerHref: '?page=1',
      olderHref: '?page=3',
    },
    lastPage: { label: 'The only page', summary: 'Requests 1–12 of 12' },
    badges: [
      { tone: 'ok', label: 'active' },
      { tone: 'warn', label: 'paused' },
      { tone: 'bad', label: 'revoked' },
      { tone: 'info', label: 'beta' },
      { tone: 'neutral', label: 'expired' },
    ],
    routes: [served('bedrock', 'eu-central-1'), failedOver, unavailable],
    toasts: [
      { tone: 'ok', text: 'The key was paused.' },
      { tone: 'bad', text: 'The key could not be paused. Try again.' },
    ],
  };
}
