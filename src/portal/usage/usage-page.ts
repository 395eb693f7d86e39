import {
  allTokens,
  p95Of,
  type UsageReport,
  usageBuckets,
  type UsageChoice,
  type UsageChoices,
  usageGroupings,
  type UsageRequest,
  type UsageSums,
} from '../../audit';
import type { OrganisationName } from '../../identity';
import {
  type ChartModel,
  type EmptyModel,
  type FieldModel,
  type FilterBarModel,
  filterFields,
  formatPercent,
  type LabelledFigure,
  type TableModel,
  type TabsModel,
  type TileModel,
  type PeriodPickerModel,
} from '../../views';
import {
  addressOf,
  type HttpRequest,
  type Localisation,
  pathOf,
  describePeriod,
  queryOf,
  describeScope,
  viewScope,
} from '../../web';
import { dateField } from '../lists/date-field';
import { organisationField } from '../lists/organisation-field';
import { periodPicker, DEFAULT_DAYS } from '../lists/periods';
import { measureLabel, usageChart } from './usage-chart';
import { usageTable } from './usage-table';
import { type UsageMeasure, measures, type UsagePageQuery } from './usage.dto';

export interface UsagePageModel {
  readonly usage: {
    readonly heading: string;
    readonly scope: string;
    readonly csvHref: string;
    readonly period: PeriodPickerModel;
    readonly filter: FilterBarModel;
    readonly tiles: readonly TileModel[];
    readonly tokens: { readonly items: readonly LabelledFigure[] };
    readonly tabs: TabsModel;
    readonly chart: ChartModel;
    readonly chartHeading: string;
    readonly table: TableModel;
    readonly note: string | null;
    readonly empty: EmptyModel | null;
  };
}

export interface UsagePageInput {
  readonly request: HttpRequest;
  readonly query: UsagePageQuery;
  readonly question: UsageRequest;
  readonly answer: UsageReport;
  readonly before: UsageReport;
  readonly choices: UsageChoices;
  /** Organisations to choose from; empty if the reader sees only one. */
  readonly organisations: readonly OrganisationName[];
  /** Name of the user filtered by; null if none of their usage is visible to the reader. */
  readonly userName: string | null;
  readonly localisation: Localisation;
}

const periods = [1, 7, 30, 90, 365] as const;
const filterNames = [
  'model',
  'key',
  'project',
  'user',
  'organisation',
  'supplier',
  'region',
  'end_user',
  'tag',
] as const;

export function usagePage(input: UsagePageInput): UsagePageModel {
  const { request, query, question, answer, localisation } = input;
  const { translate } = localisation;
  const measure = query.measure ?? 'cost';
  const isRelative = query.from === undefined && query.to === undefined;
  const period = describePeriod(
    question,
    localisation,
    isRelative ? { days: query.days ?? DEFAULT_DAYS } : undefined,
  );
  const isFiltered = filterNames.some((name) => query[name] !== undefined);
  return {
    usage: {
      heading: translate('usage.heading'),
      scope: `${period} · ${describeScope(request, translate)}`,
      csvHref: addressOf(`${pathOf(request)}/export`, queryOf(request), { measure: null }),
      period: periodPicker(input, periods, 'bucket'),
      filter: filterBar(input, isFiltered),
      tiles: tilesOf(input),
      tokens: { items: tokensOf(answer.total, localisation) },
      tabs: tabsOf(request, measure, localisation),
      chart: usageChart(measure, question, answer, localisation),
      chartHeading: measureLabel(measure, translate),
      table: usageTable(request, question, answer, localisation),
      note: question.groupBy === 'tag' ? translate('usage.tag-note') : null,
      empty: answer.total.requests > 0 ? null : emptyOf(request, isFiltered, localisation),
    },
  };
}

function filterBar(input: UsagePageInput, isFiltered: boolean): FilterBarModel {
  const { request, query, question, localisation } = input;
  const { translate } = localisation;
  const hidden = (['days', 'measure', 'zone'] as const).flatMap((name) => {
    const value = query[name];
    return value === undefined ? [] : [{ name, value: String(value) }];
  });
  const select = (name: string, selectedValue: string, options: readonly UsageChoice[]): FieldModel => ({
    id: `filter-${name}`,
    name,
    type: 'select',
    label: translate(`usage.field.${name}`),
    options: options.map(({ value, label }) => ({ value, label, selected: value === selectedValue })),
  });
  return {
    label: translate('list.filter', { heading: translate('usage.heading') }),
    action: pathOf(request),
    hidden,
    ...filterFields([
      select('group_by', question.groupBy ?? '', [
        { value: '', label: translate('usage.not-grouped') },
        ...usageGroupings
          .filter((grouping) => grouping !== 'user' || viewScope(request).kind !== 'user')
          .map((value) => ({ value, label: translate(`usage.group.${value}`) })),
      ]),
      select('bucket', query.bucket ?? '', [
        { value: '', label: translate('usage.bucket.usual') },
        ...usageBuckets.map((value) => ({ value, label: translate(`usage.bucket.${value}`) })),
      ]),
      dateField('from', query.from, translate),
      dateField('to', query.to, translate),
      ...choiceFields(input),
      ...userField(input),
      ...(['end_user', 'tag'] as const).map((name) => ({
        id: `filter-${name}`,
        name,
        type: 'search' as const,
        label: translate(`usage.group.${name}`),
        value: query[name],
        minor: true,
      })),
    ]),
    ...(isFiltered || query.from !== undefined || query.to !== undefined
      ? { clearHref: pathOf(request) }
      : {}),
  };
}

/** The user is chosen in the table of users; this field shows the choice and clears it. */
function userField({ query: { user }, userName: person, localisation }: UsagePageInput): FieldModel[] {
  if (user === undefined) return [];
  const { translate } = localisation;
  return [
    {
      id: 'filter-user',
      name: 'user',
      type: 'select',
      label: translate('usage.group.user'),
      options: [
        { value: '', label: translate('list.all') },
        { value: String(user), label: person ?? String(user), selected: true },
      ],
    },
  ];
}

/** Lists values with usage in the period, plus the selected one even if it has none. */
export function choiceFields({
  query,
  choices,
  organisations,
  localisation: { translate },
}: Pick<UsagePageInput, 'choices' | 'organisations' | 'localisation'> & {
  readonly query: Pick<UsagePageQuery, 'model' | 'key' | 'supplier' | 'region' | 'project' | 'organisation'>;
}): FieldModel[] {
  const usageFields = (['model', 'key', 'project', 'supplier', 'region'] as const).flatMap((name) => {
    const selectedValue = query[name]?.toString();
    const usedChoices = choices[name];
    if (usedChoices.length === 0 && selectedValue === undefined) return [];
    const isListed = selectedValue === undefined || usedChoices.some(({ value }) => value === selectedValue);
    const options = isListed ? usedChoices : [...usedChoices, { value: selectedValue, label: selectedValue }];
    return [
      {
        id: `filter-${name}`,
        name,
        type: 'select' as const,
        label: translate(`usage.group.${name}`),
        minor: name !== 'model' && name !== 'key',
        options: [
          { value: '', label: translate('list.all'), selected: selectedValue === undefined },
          ...options.map(({ value, label }) => ({ value, label, selected: value === selectedValue })),
        ],
      },
    ];
  });
  return [...usageFields, ...organisationField(organisations, query.organisation?.toString(), translate)];
}

const ratio = (part: number, total: number): number => (total === 0 ? 0 : part / total);

function tilesOf({ answer: { total }, before, localisation }: UsagePageInput): TileModel[] {
  const { translate } = localisation;
  const tile = (
    name: string,
    figure: LabelledFigure['figure'],
    valueOf: (sums: UsageSums) => number,
    isGood: 'less' | 'neither',
  ): TileModel => ({
    label: translate(`usage.tile.${name}`),
    figure,
    ...changeOf(valueOf(before.total), valueOf(total), isGood, localisation),
  });
  const errors = (sums: UsageSums): number => ratio(sums.failures, sums.requests);
  return [
    tile('cost', { kind: 'money', value: total.costNano }, ({ costNano }) => Number(costNano), 'neither'),
    tile('requests', { kind: 'compact', value: total.requests }, ({ requests }) => requests, 'neither'),
    tile('tokens', { kind: 'compact', value: allTokens(total) }, allTokens, 'neither'),
    tile('errors', { kind: 'percent', value: errors(total) }, errors, 'less'),
    tile('p95', { kind: 'latency', value: p95Of(total) }, (sums) => p95Of(sums) ?? 0, 'less'),
  ];
}

function changeOf(
  before: number,
  now: number,
  isGood: 'less' | 'neither',
  { locale, translate }: Localisation,
): Pick<TileModel, 'change' | 'note'> {
  const note = translate('usage.before');
  if (before === 0 || now === before) return {};
  const isMore = now > before;
  return {
    change: {
      tone: isGood === 'neither' ? 'neutral' : isMore ? 'bad' : 'ok',
      icon: isMore ? 'arrow-up' : 'arrow-down',
      text: formatPercent(locale, Math.abs(now / before - 1)),
    },
    note,
  };
}

const tokensOf = (total: UsageSums, { translate }: Localisation): LabelledFigure[] =>
  (
    [
      ['input', total.inputTokens],
      ['cache-read', total.cacheReadTokens],
      ['cache-write', total.cacheWriteTokens],
      ['output', total.outputTokens],
      ['reasoning', total.reasoningTokens],
      ['media', total.audioTokens + total.imageTokens + total.imageOutputTokens],
    ] as const
  ).map(([name, value]) => ({
    label: translate(`usage.tokens.${name}`),
    figure: { kind: 'compact', value },
  }));

const tabsOf = (request: HttpRequest, measure: UsageMeasure, { translate }: Localisation): TabsModel => ({
  label: translate('usage.measure-label'),
  items: measures.map((name) => ({
    label: translate(`usage.measure.${name}`),
    href: addressOf(pathOf(request), queryOf(request), { measure: name }),
    current: name === measure,
  })),
});

const emptyOf = (request: HttpRequest, isFiltered: boolean, { translate }: Localisation): EmptyModel =>
  isFiltered
    ? {
        title: translate('list.no-match-title'),
        text: translate('list.no-match-text'),
        action: { label: translate('filter.clear'), href: pathOf(request), quiet: true },
      }
    : { title: translate('usage.nothing-title'), text: translate('usage.nothing-text') };
