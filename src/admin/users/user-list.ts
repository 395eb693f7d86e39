import type { LimitState } from '../../billing';
import type { ListedUser, OrganisationName } from '../../identity';
import { formatUsd, type Nano, roles, type Scope } from '../../kernel';
import {
  type BadgeModel,
  type FieldModel,
  formatMoney,
  type RowModel,
  type TabsModel,
  type Translate,
} from '../../views';
import { type HttpRequest, type ListDescription, type Localisation, monthWords, scopeWords } from '../../web';
import { choicesOf } from '../pages/choices';
import { pickerOf } from '../pages/object-page';
import { settableStatuses, type UserListQuery } from './user-forms';

/** A person of the list, with this month's spending and the limit of it. */
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
    scope: `${monthWords(localisation)} · ${scopeWords(request, translate, scope)}`,
    columns: [
      { label: translate('people.name') },
      { label: translate('people.role-label'), minor: true },
      { label: translate('people.status-label') },
      { label: translate('people.organisation'), minor: true },
      { label: translate('people.spent'), align: 'end' },
      { label: translate('people.last-seen'), minor: true },
    ],
    fields: fieldsOf(query, translate, organisations),
    row: (user) => rowOf(user, localisation),
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

function rowOf(user: UserLine, { translate, locale }: Localisation): RowModel {
  return {
    href: `/dashboard/admin/users/${user.id}`,
    cells: [
      {
        kind: 'text',
        value: user.displayName === '' ? user.email : user.displayName,
        heading: true,
        ...(user.displayName === '' ? {} : { note: user.email }),
      },
      {
        kind: 'text',
        value: translate(`people.role.${user.role}`),
        note: billingWords(user, translate),
        minor: true,
      },
      { kind: 'badge', value: statusBadge(user.status, translate) },
      {
        kind: 'text',
        value: user.organisation ?? '–',
        minor: true,
        ...(user.department === null ? {} : { note: user.department }),
      },
      {
        kind: 'money',
        value: user.spent,
        align: 'end',
        ...(user.budget === null
          ? {}
          : { note: translate('people.of-budget', { amount: formatMoney(locale, user.budget.limit) }) }),
      },
      { kind: 'date', value: user.lastSeenAt, minor: true },
    ],
  };
}

export const billingWords = ({ billingType, billingExempt }: ListedUser, translate: Translate): string =>
  translate(billingExempt ? 'people.billing-type.exempt' : `people.billing-type.${billingType}`);

export const userColumns = [
  'user_id',
  'email',
  'display_name',
  'role',
  'status',
  'organisation',
  'department',
  'billing_type',
  'billing_exempt',
  'spent_this_month_usd',
  'budget_usd',
  'created_at',
  'last_seen_at',
] as const;

export const userRow = (user: UserLine): readonly unknown[] => [
  user.id,
  user.email,
  user.displayName,
  user.role,
  user.status,
  user.organisation,
  user.department,
  user.billingType,
  user.billingExempt,
  formatUsd(user.spent),
  user.budget === null ? null : formatUsd(user.budget.limit),
  user.createdAt,
  user.lastSeenAt,
];
