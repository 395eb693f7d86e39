import type { OrganisationName, ProjectName } from '../../identity';
import { formatUsd, type Nano, type Period } from '../../kernel';
import { type ManagedKey, maskKey, shownStatuses } from '../../keys';
import {
  type BannerModel,
  type Cell,
  type FieldModel,
  formatTime,
  type RowModel,
  type Translate,
} from '../../views';
import {
  type HttpRequest,
  type ListDescription,
  type Localisation,
  periodWords,
  scopeWords,
} from '../../web';
import { USUAL_DAYS } from '../lists/periods';
import { organisationField } from '../lists/organisation-field';
import { attentionOf } from './key-attention';
import { budgetMeter, statusBadge } from './key-words';
import type { KeysQuery } from './keys-query.form';

interface Facts {
  readonly period: Period;
  readonly spent: ReadonlyMap<number, Nano>;
  readonly lastUsed: ReadonlyMap<number, Date>;
  readonly usualRate: number;
}

interface KeysListFacts {
  readonly request: HttpRequest;
  readonly query: KeysQuery;
  readonly projects: readonly ProjectName[];
  /** They are the choice; empty where one sees a single one. */
  readonly organisations: readonly OrganisationName[];
  readonly facts: Facts;
  readonly isOwnView: boolean;
  readonly troubled: readonly ManagedKey[];
}

export function keysList(
  { request, query, projects, organisations, facts, isOwnView, troubled }: KeysListFacts,
  localisation: Localisation,
): { list: ListDescription<ManagedKey>; attention: BannerModel[] } {
  const { translate } = localisation;
  const end = 'end' as const;
  return {
    attention: troubled.map((key) => attentionOf(key, localisation)),
    list: {
      heading: translate('navigation.keys'),
      scope: `${periodWords(facts.period, localisation, { days: USUAL_DAYS })} · ${scopeWords(request, translate)}`,
      columns: [
        { label: translate('keys.name') },
        { label: translate('keys.key'), minor: true },
        { label: translate('keys.status-label') },
        { label: translate('keys.budget'), minor: true },
        { label: translate('keys.spend'), align: end },
        { label: translate('keys.may-call'), minor: true },
        { label: translate('keys.rate'), align: end, minor: true },
        { label: translate('keys.last-used'), minor: true },
        ...(isOwnView ? [] : [{ label: translate('keys.created-by'), minor: true }]),
      ],
      fields: fieldsOf({ query, projects, organisations }, translate),
      row: (key) => rowOf(key, facts, isOwnView, localisation),
      nothingYet: {
        title: translate('keys.none-title'),
        text: translate('keys.none-text'),
        action: { label: translate('keys.new'), href: '/dashboard/keys/new' },
      },
    },
  };
}

function fieldsOf(
  { query, projects, organisations }: Pick<KeysListFacts, 'query' | 'projects' | 'organisations'>,
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
        ...shownStatuses.map((status) => ({
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

function rowOf(
  key: ManagedKey,
  { spent, lastUsed, usualRate }: Facts,
  isOwnView: boolean,
  localisation: Localisation,
): RowModel {
  const { translate } = localisation;
  const budget: Cell =
    key.budget === null
      ? { kind: 'text', value: translate('keys.no-budget'), minor: true }
      : {
          kind: 'meter',
          value: budgetMeter(`${translate('keys.budget')}: ${key.name}`, key.budget, localisation),
          minor: true,
        };
  return {
    href: `/dashboard/keys/${key.id}`,
    cells: [
      {
        kind: 'text',
        value: key.name,
        heading: true,
        ...noteOf(key, localisation),
      },
      { kind: 'code', value: maskKey(key.publicId), minor: true },
      { kind: 'badge', value: statusBadge(key, translate) },
      budget,
      { kind: 'money', value: spent.get(key.id) ?? 0n, align: 'end' },
      { kind: 'text', value: mayCall(key, translate), minor: true },
      { kind: 'number', value: key.rateLimitRpm ?? usualRate, align: 'end', minor: true },
      { kind: 'time', value: lastUsed.get(key.id) ?? null, minor: true },
      ...(isOwnView ? [] : [{ kind: 'text' as const, value: key.createdBy, minor: true }]),
    ],
  };
}

/** The end of the day in which it can be restored matters more than who keeps it. */
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

function mayCall(
  { allowedModels: models, allowedRegions: regions }: ManagedKey,
  translate: Translate,
): string {
  const [only] = models ?? [];
  const called =
    models === null
      ? translate('keys.all-models')
      : models.length === 1 && only !== undefined
        ? only
        : translate('models.count', { count: models.length });
  // No-break spaces: of a list of keys, this column is the one with room to spare.
  const whole = called.replaceAll(' ', '\u00A0');
  return regions === null ? whole : `${whole} · ${regions.join(', ')}`;
}

export const keyColumns = [
  'key_id',
  'name',
  'status',
  'budget_limit_usd',
  'budget_used_usd',
  'budget_period',
  'resets_at',
  'allowed_models',
  'allowed_regions',
  'rate_limit_rpm',
  'expires_at',
  'created_at',
  'created_by',
  'user_id',
  'project_id',
  'key_public_id',
] as const;

export const keyRow = (key: ManagedKey): readonly unknown[] => [
  key.id,
  key.name,
  key.status,
  key.budget === null ? null : formatUsd(key.budget.limit),
  key.budget === null ? null : formatUsd(key.budget.spent),
  key.budget?.period,
  key.budget?.resetsAt,
  key.allowedModels?.join(' '),
  key.allowedRegions?.join(' '),
  key.rateLimitRpm,
  key.expiresAt,
  key.createdAt,
  key.createdBy,
  key.userId,
  key.projectId,
  key.publicId,
];
