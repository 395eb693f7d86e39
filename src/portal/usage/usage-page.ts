import {
  allTokens,
  p95Of,
  type UsageAnswer,
  usageBuckets,
  type UsageChoice,
  type UsageChoices,
  usageGroupings,
  type UsageQuestion,
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
  periodWords,
  queryOf,
  scopeWords,
  viewScope,
} from '../../web';
import { measureNames, usageChart } from './usage-chart';
import { usageTable } from './usage-table';
import { dateField } from '../lists/date-field';
import { organisationField } from '../lists/organisation-field';
import { periodPicker, USUAL_DAYS } from '../lists/periods';
import { type Measure, measures, type UsagePageQuery } from './usage.form';

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

export interface UsageFacts {
  readonly request: HttpRequest;
  readonly query: UsagePageQuery;
  readonly question: UsageQuestion;
  readonly answer: UsageAnswer;
  readonly before: UsageAnswer;
  readonly choices: UsageChoices;
  /** They are the choice; empty where one sees a single one. */
  readonly organisations: readonly OrganisationName[];
  /** The name of whom the address asks for; null where nothing of theirs is to be seen. */
  readonly person: string | null;
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

export function usagePage(facts: UsageFacts): UsagePageModel {
  const { request, query, question, answer, localisation } = facts;
  const { translate } = localisation;
  const measure = query.measure ?? 'cost';
  const isNamed = query.from === undefined && query.to === undefined;
  const period = periodWords(
    question,
    localisation,
    isNamed ? { days: query.days ?? USUAL_DAYS } : undefined,
  );
  const isFiltered = filterNames.some((name) => query[name] !== undefined);
  return {
    usage: {
      heading: translate('usage.heading'),
      scope: `${period} · ${scopeWords(request, translate)}`,
      csvHref: addressOf(`${pathOf(request)}/export`, queryOf(request), { measure: null }),
      period: periodPicker(facts, periods, 'bucket'),
      filter: filterOf(facts, isFiltered),
      tiles: tilesOf(facts),
      tokens: { items: tokensOf(answer.total, localisation) },
      tabs: tabsOf(request, measure, localisation),
      chart: usageChart(measure, question, answer, localisation),
      chartHeading: measureNames(measure, translate),
      table: usageTable(request, question, answer, localisation),
      note: question.groupBy === 'tag' ? translate('usage.tag-note') : null,
      empty: answer.total.requests > 0 ? null : emptyOf(request, isFiltered, localisation),
    },
  };
}

function filterOf(facts: UsageFacts, isFiltered: boolean): FilterBarModel {
  const { request, query, question, localisation } = facts;
  const { translate } = localisation;
  const hidden = (['days', 'measure', 'zone'] as const).flatMap((name) => {
    const value = query[name];
    return value === undefined ? [] : [{ name, value: String(value) }];
  });
  const select = (name: string, wanted: string, options: readonly UsageChoice[]): FieldModel => ({
    id: `filter-${name}`,
    name,
    type: 'select',
    label: translate(`usage.field.${name}`),
    options: options.map(({ value, label }) => ({ value, label, selected: value === wanted })),
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
      ...choiceFields(facts),
      ...personField(facts),
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

/** A person is chosen in the table of people; here the choice is kept, and taken back. */
function personField({ query: { user }, person, localisation }: UsageFacts): FieldModel[] {
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

/** The lists have what was used; a value that the address names stays to choose in any case. */
export function choiceFields({
  query,
  choices,
  organisations,
  localisation: { translate },
}: Pick<UsageFacts, 'choices' | 'organisations' | 'localisation'> & {
  readonly query: Pick<UsagePageQuery, 'model' | 'key' | 'supplier' | 'region' | 'project' | 'organisation'>;
}): FieldModel[] {
  const ofUse = (['model', 'key', 'project', 'supplier', 'region'] as const).flatMap((name) => {
    const wanted = query[name]?.toString();
    const known = choices[name];
    if (known.length === 0 && wanted === undefined) return [];
    const isKnown = wanted === undefined || known.some(({ value }) => value === wanted);
    const options = isKnown ? known : [...known, { value: wanted, label: wanted }];
    return [
      {
        id: `filter-${name}`,
        name,
        type: 'select' as const,
        label: translate(`usage.group.${name}`),
        minor: name !== 'model' && name !== 'key',
        options: [
          { value: '', label: translate('list.all'), selected: wanted === undefined },
          ...options.map(({ value, label }) => ({ value, label, selected: value === wanted })),
        ],
      },
    ];
  });
  return [...ofUse, ...organisationField(organisations, query.organisation?.toString(), translate)];
}

const ratio = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole);

function tilesOf({ answer: { total }, before, localisation }: UsageFacts): TileModel[] {
  const { translate } = localisation;
  const tile = (
    name: string,
    figure: LabelledFigure['figure'],
    of: (sums: UsageSums) => number,
    isGood: 'less' | 'neither',
  ): TileModel => ({
    label: translate(`usage.tile.${name}`),
    figure,
    ...changeOf(of(before.total), of(total), isGood, localisation),
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

/** Against the period before, where there was something. */
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

const tabsOf = (request: HttpRequest, measure: Measure, { translate }: Localisation): TabsModel => ({
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
