import type { LimitState } from '../../billing';
import type { ListedUser, OrganisationName } from '../../identity';
import { formatUsd, type Nano, roles, type Scope } from '../../kernel';
import {
  type BadgeModel,
  type TableColumn,
  column,
  type FieldModel,
  formatMoney,
  mixedColumn,
  type TabsModel,
  type Translate,
} from '../../views';
import {
  type CsvColumns,
  type HttpRequest,
  type ListDescription,
  type Localisation,
  describeMonth,
  describeScope,
} from '../../web';
import { choicesOf } from '../pages/choices';
import { pickerOf } from '../pages/object-page';
import { settableStatuses, type UserListQuery } from './users.dto';

export interface UserLine extends ListedUser {
  readonly spent: Nano;
  readonly budget: LimitState | null;
}

const statusTones = {
  active: 'ok',
  pending_verification: 'warn',
  suspended: 'bad',
  archived: 'neutral',
  deleted: 'neutral',
} as const;

export const statusBadge = (status: ListedUser['status'], translate: Translate): BadgeModel => ({
  tone: statusTones[status],
  label: translate(`people.status.${status}`),
});

export function userTabs(current: 'users' | 'invites', translate: Translate): TabsModel {
  const tab = (name: 'users' | 'invites', href: string) => ({
    label: translate(`people.tab.${name}`),
    href,
    current: name === current,
  });
  return {
    label: translate('people.heading'),
    items: [tab('users', '/dashboard/admin/users'), tab('invites', '/dashboard/admin/users/invites')],
  };
}

export function userList(
  request: HttpRequest,
  query: UserListQuery,
  localisation: Localisation,
  scope: Scope,
  organisations: readonly OrganisationName[],
): ListDescription<UserLine> {
  const { translate } = localisation;
  return {
    heading: translate('people.heading'),
    scope: `${describeMonth(localisation)} · ${describeScope(request, translate, scope)}`,
    columns: columnsOf(localisation),
    fields: fieldsOf(query, translate, organisations),
    row: ({ id }) => ({ href: `/dashboard/admin/users/${id}` }),
    nothingYet: {
      title: translate('people.nothing-title'),
      text: translate('people.nothing-text'),
      action: { label: translate('people.invite'), href: '/dashboard/admin/users/invite' },
    },
    actions: [{ label: translate('people.invite'), href: '/dashboard/admin/users/invite' }],
  };
}

function fieldsOf(
  query: UserListQuery,
  translate: Translate,
  organisations: readonly OrganisationName[],
): FieldModel[] {
  const all = translate('list.all');
  return [
    {
      id: 'filter-text',
      name: 'q',
      type: 'search',
      label: translate('people.search'),
      value: query.q,
      filterKey: true,
      width: 'wide',
    },
    {
      id: 'filter-role',
      name: 'role',
      type: 'select',
      label: translate('people.role-label'),
      options: choicesOf(roles, query.role ?? '', (role) => translate(`people.role.${role}`), all),
    },
    {
      id: 'filter-status',
      name: 'status',
      type: 'select',
      label: translate('people.status-label'),
      options: choicesOf(
        settableStatuses,
        query.status ?? '',
        (status) => translate(`people.status.${status}`),
        all,
      ),
    },
    ...(organisations.length === 0
      ? []
      : [
          pickerOf(
            { id: 'filter-organisation', name: 'org_id', label: translate('people.organisation') },
            organisations,
            query.org_id ?? null,
            all,
          ),
        ]),
  ];
}

const columnsOf = ({ translate, locale }: Localisation): TableColumn<UserLine>[] => [
  mixedColumn('people.name', ({ displayName, email }) =>
    displayName === '' ? { kind: 'text', value: email } : { kind: 'text', value: displayName, note: email },
  ),
  mixedColumn(
    'people.role-label',
    (user) => ({
      kind: 'text',
      value: translate(`people.role.${user.role}`),
      note: billingText(user, translate),
    }),
    'minor',
  ),
  column('people.status-label', 'badge', ({ status }) => statusBadge(status, translate)),
  mixedColumn(
    'people.organisation',
    ({ organisation, department }) => ({
      kind: 'text',
      value: organisation ?? '–',
      ...(department !== null && { note: department }),
    }),
    'minor',
  ),
  mixedColumn(
    'people.spent',
    ({ spent, budget }) => ({
      kind: 'money',
      value: spent,
      ...(budget !== null && {
        note: translate('people.of-budget', { amount: formatMoney(locale, budget.limit) }),
      }),
    }),
    'end',
  ),
  column('people.last-seen', 'date', ({ lastSeenAt }) => lastSeenAt, 'minor'),
];

export const billingText = ({ billingType, billingExempt }: ListedUser, translate: Translate): string =>
  translate(billingExempt ? 'people.billing-type.exempt' : `people.billing-type.${billingType}`);

export const userCsvColumns: CsvColumns<UserLine> = {
  user_id: ({ id }) => id,
  email: ({ email }) => email,
  display_name: ({ displayName }) => displayName,
  role: ({ role }) => role,
  status: ({ status }) => status,
  organisation: ({ organisation }) => organisation,
  department: ({ department }) => department,
  billing_type: ({ billingType }) => billingType,
  billing_exempt: ({ billingExempt }) => billingExempt,
  spent_this_month_usd: (user) => formatUsd(user.spent),
  budget_usd: (user) => (user.budget === null ? null : formatUsd(user.budget.limit)),
  created_at: ({ createdAt }) => createdAt,
  last_seen_at: ({ lastSeenAt }) => lastSeenAt,
};
