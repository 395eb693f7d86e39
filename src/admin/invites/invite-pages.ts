import type { ListedDepartment, ListedInvite, OrganisationName } from '../../identity';
import type { UserRole } from '../../kernel';
import type { Page } from '../../platform';
import { type FieldModel, type Locale, locales, type Translate } from '../../views';
import { addressOf, type HttpRequest, pathOf, queryOf } from '../../web';
import { choicesOf } from '../pages/choices';
import { actOf, type ObjectPageModel, pickerOf, type SectionModel } from '../pages/object-page';
import { userTabs } from '../users/user-list';

const INVITE_PATH = '/dashboard/admin/users/invite';

interface InviteFormContext {
  readonly organisations: readonly OrganisationName[];
  readonly departments: readonly ListedDepartment[];
  readonly roles: readonly UserRole[];
  readonly scopeText: string;
  readonly email: string;
  readonly locale: Locale;
}

export function invitePage(context: InviteFormContext, translate: Translate): ObjectPageModel {
  const act = actOf(
    {
      id: 'invite',
      label: translate('invites.heading'),
      action: INVITE_PATH,
      open: true,
      withoutReason: true,
      submit: translate('invites.send'),
      note: translate('invites.note'),
      fields: fieldsOf(context, translate),
    },
    translate,
  );
  return {
    page: {
      heading: translate('invites.heading'),
      scope: context.scopeText,
      crumb: { label: translate('people.heading'), href: '/dashboard/admin/users' },
      sections: [{ id: 'form', heading: translate('invites.heading'), acts: [act] }],
    },
  };
}

function fieldsOf(
  { organisations, departments, roles, email, locale }: InviteFormContext,
  translate: Translate,
): FieldModel[] {
  const language = new Intl.DisplayNames([locale], { type: 'language' });
  return [
    {
      id: 'email',
      name: 'email',
      type: 'textarea',
      rows: 3,
      label: translate('invites.emails'),
      help: translate('invites.emails-help'),
      value: email,
      required: true,
    },
    {
      id: 'role',
      name: 'role',
      type: 'select',
      label: translate('people.role-label'),
      options: choicesOf(
        roles,
        'user',
        (role) => `${translate(`people.role.${role}`)}: ${translate(`people.role-means.${role}`)}`,
      ),
    },
    ...(organisations.length === 0
      ? []
      : [
          pickerOf(
            { id: 'org_id', name: 'org_id', label: translate('people.organisation') },
            organisations,
            null,
            null,
          ),
        ]),
    pickerOf(
      { id: 'department_id', name: 'department_id', label: translate('people.department') },
      departments.map(({ id, name, organisation }) => ({
        id,
        name: organisations.length === 0 ? name : `${organisation}: ${name}`,
      })),
      null,
      translate('people.no-department'),
    ),
    {
      id: 'language',
      name: 'language',
      type: 'select',
      label: translate('invites.language'),
      options: choicesOf(locales, locale, (choice) => language.of(choice) ?? choice),
    },
  ];
}

export function inviteListPage(
  request: HttpRequest,
  { rows: invites, next, previous }: Page<ListedInvite>,
  scopeText: string,
  translate: Translate,
): ObjectPageModel {
  const href = (cursor: string | null) => addressOf(pathOf(request), queryOf(request), { cursor });
  return {
    pager: {
      label: translate('list.pages', { heading: translate('invites.list') }),
      summary: translate('list.shown', { count: invites.length }),
      ...(previous === null ? {} : { newerHref: href(previous) }),
      ...(next === null ? {} : { olderHref: href(next) }),
    },
    page: {
      heading: translate('invites.list'),
      scope: scopeText,
      actions: [{ label: translate('people.invite'), href: INVITE_PATH }],
      tabs: userTabs('invites', translate),
      sections:
        invites.length === 0
          ? [emptySection(translate)]
          : invites.map((invite) => sectionOf(invite, translate)),
    },
  };
}

const emptySection = (translate: Translate): SectionModel => ({
  id: 'none',
  heading: translate('invites.list'),
  table: {
    caption: translate('invites.list'),
    columns: [],
    rows: [],
    empty: {
      title: translate('administration.nothing-title'),
      text: translate('people.nothing-text'),
      action: { label: translate('people.invite'), href: INVITE_PATH },
    },
  },
});

const tones = { pending: 'info', accepted: 'ok', revoked: 'neutral', expired: 'warn' } as const;

function sectionOf(invite: ListedInvite, translate: Translate): SectionModel {
  const isOpen = invite.state === 'pending' || invite.state === 'expired';
  const act = (name: 'revoke' | 'resend') =>
    actOf(
      {
        id: `${name}-${invite.id}`,
        label: translate(`invites.${name}`),
        action: `${INVITE_PATH}/${invite.id}/${name}`,
        withoutReason: true,
        danger: name === 'revoke',
        submit: translate(`invites.${name}`),
      },
      translate,
    );
  return {
    id: `invite-${invite.id}`,
    heading: invite.email,
    facts: [
      {
        label: translate('people.status-label'),
        figure: {
          kind: 'badge',
          value: { tone: tones[invite.state], label: translate(`invites.state.${invite.state}`) },
        },
      },
      { label: translate('people.organisation'), figure: { kind: 'text', value: invite.organisation } },
      {
        label: translate('people.role-label'),
        figure: { kind: 'text', value: translate(`people.role.${invite.role}`) },
      },
      { label: translate('invites.invited-by'), figure: { kind: 'text', value: invite.invitedBy } },
      { label: translate('invites.expires'), figure: { kind: 'time', value: invite.expiresAt } },
    ],
    acts: isOpen ? [act('resend'), act('revoke')] : [],
  };
}
