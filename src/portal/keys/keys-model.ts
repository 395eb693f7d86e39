import type { OrganisationName, ProjectName } from '../../identity';
import { formatUsd, type Nano, type Period } from '../../kernel';
import { type ManagedKey, maskKey, displayStatuses } from '../../keys';
import {
  type BannerModel,
  type TableColumn,
  column,
  type FieldModel,
  type Figure,
  formatTime,
  mixedColumn,
  type Translate,
} from '../../views';
import {
  type CsvColumns,
  type HttpRequest,
  type ListDescription,
  type Localisation,
  describePeriod,
  describeScope,
} from '../../web';
import { DEFAULT_DAYS } from '../lists/periods';
import { organisationField } from '../lists/organisation-field';
import { attentionBanner } from './key-attention';
import { budgetMeter, statusBadge } from './key-labels';
import type { KeysQuery } from './keys.dto';

interface KeyListFigures {
  readonly period: Period;
  readonly spent: ReadonlyMap<number, Nano>;
  readonly lastUsed: ReadonlyMap<number, Date>;
  readonly usualRate: number;
}

interface KeyListInput {
  readonly request: HttpRequest;
  readonly query: KeysQuery;
  readonly projects: readonly ProjectName[];
  /** Organisations to choose from; empty if the reader sees only one. */
  readonly organisations: readonly OrganisationName[];
  readonly facts: KeyListFigures;
  readonly isOwnView: boolean;
  readonly troubled: readonly ManagedKey[];
}

export function keyListModel(
  { request, query, projects, organisations, facts, isOwnView, troubled }: KeyListInput,
  localisation: Localisation,
): { list: ListDescription<ManagedKey>; attention: BannerModel[] } {
  const { translate } = localisation;
  return {
    attention: troubled.map((key) => attentionBanner(key, localisation)),
    list: {
      heading: translate('navigation.keys'),
      scope: `${describePeriod(facts.period, localisation, { days: DEFAULT_DAYS })} · ${describeScope(request, translate)}`,
      columns: columnsOf(facts, isOwnView, localisation),
      fields: fieldsOf({ query, projects, organisations }, translate),
      row: ({ id }) => ({ href: `/dashboard/keys/${id}` }),
      nothingYet: {
        title: translate('keys.none-title'),
        text: translate('keys.none-text'),
        action: { label: translate('keys.new'), href: '/dashboard/keys/new' },
      },
    },
  };
}

function fieldsOf(
  { query, projects, organisations }: Pick<KeyListInput, 'query' | 'projects' | 'organisations'>,
  translate: Translate,
): FieldModel[] {
  const all = translate('list.all');
  return [
    {
      id: 'filter-status',
      name: 'status',
      type: 'select',
      label: translate('keys.status-label'),
      options: [
        { value: '', label: all, selected: query.status === undefined },
        ...displayStatuses.map((status) => ({
          value: status,
          label: translate(`keys.status.${status}`),
          selected: query.status === status,
        })),
      ],
    },
    ...(projects.length === 0
      ? []
      : [
          {
            id: 'filter-project',
            name: 'project',
            type: 'select' as const,
            label: translate('keys.field.project_id'),
            options: [
              { value: '', label: all, selected: query.project === undefined },
              ...projects.map(({ id, name }) => ({
                value: String(id),
                label: name,
                selected: query.project === id,
              })),
            ],
          },
        ]),
    ...organisationField(organisations, query.organisation?.toString(), translate),
    {
      id: 'filter-text',
      name: 'q',
      type: 'search',
      label: translate('keys.name'),
      value: query.q,
      filterKey: true,
    },
  ];
}

const columnsOf = (
  { spent, lastUsed, usualRate }: KeyListFigures,
  isOwnView: boolean,
  localisation: Localisation,
): TableColumn<ManagedKey>[] => {
  const { translate } = localisation;
  return [
    mixedColumn('keys.name', (key) => ({ kind: 'text', value: key.name, ...noteOf(key, localisation) })),
    column('keys.key', 'code', ({ publicId }) => maskKey(publicId), 'minor'),
    column('keys.status-label', 'badge', (key) => statusBadge(key, translate)),
    mixedColumn('keys.budget', (key) => budgetFigure(key, localisation), 'minor'),
    column('keys.spend', 'money', ({ id }) => spent.get(id) ?? 0n),
    column('keys.may-call', 'text', (key) => callableText(key, translate), 'minor'),
    column('keys.rate', 'number', ({ rateLimitRpm }) => rateLimitRpm ?? usualRate, 'minor'),
    column('keys.last-used', 'time', ({ id }) => lastUsed.get(id) ?? null, 'minor'),
    ...(isOwnView
      ? []
      : [column<ManagedKey, 'text'>('keys.created-by', 'text', ({ createdBy }) => createdBy, 'minor')]),
  ];
};

const budgetFigure = ({ name, budget }: ManagedKey, localisation: Localisation): Figure => {
  const { translate } = localisation;
  return budget === null
    ? { kind: 'text', value: translate('keys.no-budget') }
    : { kind: 'meter', value: budgetMeter(`${translate('keys.budget')}: ${name}`, budget, localisation) };
};

/** Prefers the end of the restore period to the file that manages the key. */
function noteOf(
  { restorableUntil, fileName }: ManagedKey,
  { translate, locale, timeZone }: Localisation,
): { readonly note?: string } {
  if (restorableUntil !== null)
    return {
      note: translate('keys.restore.mark', {
        until: formatTime(locale, timeZone, restorableUntil, 'minute'),
      }),
    };
  return fileName === null ? {} : { note: translate('keys.kept.mark') };
}

function callableText(
  { allowedModels: models, allowedRegions: regions }: ManagedKey,
  translate: Translate,
): string {
  const [onlyModel] = models ?? [];
  const modelsText =
    models === null
      ? translate('keys.all-models')
      : models.length === 1 && onlyModel !== undefined
        ? onlyModel
        : translate('models.count', { count: models.length });
  // Uses no-break spaces, because this column has the most room.
  const unbreakable = modelsText.replaceAll(' ', '\u00A0');
  return regions === null ? unbreakable : `${unbreakable} · ${regions.join(', ')}`;
}

export const keyFile: CsvColumns<ManagedKey> = {
  key_id: ({ id }) => id,
  name: ({ name }) => name,
  status: ({ status }) => status,
  budget_limit_usd: ({ budget }) => (budget === null ? null : formatUsd(budget.limit)),
  budget_used_usd: ({ budget }) => (budget === null ? null : formatUsd(budget.spent)),
  budget_period: ({ budget }) => budget?.period,
  resets_at: ({ budget }) => budget?.resetsAt,
  allowed_models: ({ allowedModels }) => allowedModels?.join(' '),
  allowed_regions: ({ allowedRegions }) => allowedRegions?.join(' '),
  rate_limit_rpm: ({ rateLimitRpm }) => rateLimitRpm,
  expires_at: ({ expiresAt }) => expiresAt,
  created_at: ({ createdAt }) => createdAt,
  created_by: ({ createdBy }) => createdBy,
  user_id: ({ userId }) => userId,
  project_id: ({ projectId }) => projectId,
  key_public_id: ({ publicId }) => publicId,
};
