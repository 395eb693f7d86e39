import type { UserName } from '../../identity';
import { formatUsd, type Scope, UNKNOWN_FIELD_MODES } from '../../kernel';
import { column, type FieldModel, type Translate } from '../../views';
import {
  type CsvColumns,
  type HttpRequest,
  type ListDescription,
  type Localisation,
  describeMonth,
  describeScope,
} from '../../web';
import { raiseInput } from '../pages/budget-raise';
import {
  type ActModel,
  actOf,
  confirmationField,
  flagField,
  type ObjectPageModel,
  userField,
} from '../pages/object-page';
import { moneyField } from '../pages/money-field';
import { budgetsSection, factsSection } from './organisation-sections';
import type { OrganisationDetails, OrganisationLine } from './organisation-details.query';

const path = '/dashboard/admin/organisations';

export function organisationList(
  request: HttpRequest,
  text: string | undefined,
  localisation: Localisation,
  scope: Scope,
): ListDescription<OrganisationLine> {
  const { translate } = localisation;
  return {
    heading: translate('organisations.heading'),
    scope: `${describeMonth(localisation)} · ${describeScope(request, translate, scope)}`,
    columns: [
      column('people.name', 'text', ({ name }) => name),
      column('organisations.slug', 'text', ({ slug }) => slug, 'minor'),
      column('organisations.users', 'number', ({ users }) => users),
      column('organisations.keys', 'number', ({ keys }) => keys, 'minor'),
      column('organisations.spent', 'money', ({ spent }) => spent),
      column('organisations.budget', 'money', ({ budget }) => budget, 'minor'),
      column('organisations.exempt', 'text', ({ billingExempt }) => yesNo(billingExempt, translate), 'minor'),
    ],
    fields: [
      {
        id: 'filter-text',
        name: 'q',
        type: 'search',
        label: translate('organisations.search'),
        value: text ?? '',
        filterKey: true,
      },
    ],
    row: ({ id }) => ({ href: `${path}/${id}` }),
    nothingYet: {
      title: translate('organisations.nothing-title'),
      text: translate('organisations.nothing-text'),
      action: { label: translate('organisations.new'), href: `${path}/new` },
    },
    actions: [
      { label: translate('organisations.merge'), href: `${path}/merge` },
      { label: translate('organisations.new'), href: `${path}/new` },
    ],
  };
}

const yesNo = (value: boolean, translate: Translate): string =>
  translate(value ? 'administration.yes' : 'administration.no');

const nameFields = (name: string, slug: string, translate: Translate): FieldModel[] => [
  {
    id: 'name',
    name: 'name',
    label: translate('people.name'),
    value: name,
    required: true,
    autocomplete: 'off',
  },
  {
    id: 'slug',
    name: 'slug',
    label: translate('organisations.slug'),
    value: slug,
    required: true,
    autocomplete: 'off',
    help: translate('organisations.slug-help'),
  },
];

export const newOrganisationPage = (translate: Translate): ObjectPageModel => ({
  page: {
    heading: translate('organisations.new'),
    scope: translate('admin.all-organisations'),
    crumb: { label: translate('organisations.heading'), href: path },
    sections: [
      {
        id: 'new',
        heading: translate('organisations.new'),
        acts: [
          actOf(
            {
              id: 'create',
              label: translate('organisations.new'),
              action: path,
              open: true,
              withoutReason: true,
              submit: translate('organisations.create'),
              fields: [
                ...nameFields('', '', translate),
                moneyField('monthly_budget', 'organisations.budget', undefined, translate),
              ],
            },
            translate,
          ),
        ],
      },
    ],
  },
});

interface OrganisationPageContext {
  readonly members: readonly UserName[];
  readonly isAdminView: boolean;
  readonly now: Date;
}

export function organisationPage(
  details: OrganisationDetails,
  { members, isAdminView, now }: OrganisationPageContext,
  localisation: Localisation,
): ObjectPageModel {
  const { translate } = localisation;
  const { line: organisation } = details;
  const { id, name, slug } = organisation;
  return {
    page: {
      heading: name,
      scope: `${slug} · ${describeMonth(localisation)}`,
      crumb: { label: translate('organisations.heading'), href: path },
      actions: [
        { label: translate('departments.heading'), href: `/dashboard/admin/departments?org_id=${id}` },
        { label: translate('markups.set'), href: `${path}/${id}/markup` },
        { label: translate('organisations.merge'), href: `${path}/merge?target_org_id=${id}` },
        { label: translate('domains.heading'), href: `${path}/${id}/domains` },
      ],
      sections: [
        factsSection(details, isAdminView, `${now.toISOString().slice(0, 8)}01`, localisation),
        budgetsSection(details, localisation),
        {
          id: 'changes',
          heading: translate('people.changes'),
          acts: [narrowAct(id, translate), ...organisationActs(details, members, localisation)],
        },
      ],
    },
  };
}

const narrowAct = (id: number, translate: Translate): ActModel =>
  actOf(
    {
      id: 'narrow',
      label: translate('organisations.narrow'),
      action: '/dashboard/set-admin-org',
      withoutReason: true,
      hidden: [
        { name: 'org_id', value: String(id) },
        { name: 'next', value: `${path}/${id}` },
      ],
      note: translate('organisations.narrow-note'),
      submit: translate('organisations.narrow'),
    },
    translate,
  );

function organisationActs(
  details: OrganisationDetails,
  members: readonly UserName[],
  localisation: Localisation,
): ActModel[] {
  const { translate } = localisation;
  const { line: organisation } = details;
  return [
    editAct(details, members, translate),
    actOf(
      {
        id: 'budget-raise',
        action: `${path}/${organisation.id}/budget-raise`,
        version: organisation.version,
        ...raiseInput(organisation.rule, localisation),
      },
      translate,
    ),
    deleteAct(organisation, translate),
  ];
}

function editAct(
  { line: organisation, creditCeiling }: OrganisationDetails,
  members: readonly UserName[],
  translate: Translate,
): ActModel {
  const { id, name, slug, version, billingUser, billingExempt, ssoOnly, unknownFields, budget } =
    organisation;
  const payer = userField(
    {
      id: 'billing_user_id',
      name: 'billing_user_id',
      label: translate('organisations.billing-user'),
      placeholder: translate('organisations.each-pays'),
      optional: true,
    },
    members,
    billingUser,
  );
  return actOf(
    {
      id: 'edit',
      label: translate('organisations.edit'),
      value: billingUser ?? translate('organisations.each-pays'),
      action: `${path}/${id}`,
      version,
      fields: [
        ...nameFields(name, slug, translate),
        payer,
        moneyField('monthly_budget', 'organisations.budget', budget ?? undefined, translate),
        moneyField('credit_ceiling', 'organisations.credit-ceiling', creditCeiling, translate),
        flagField('billing_exempt', translate('organisations.exempt'), billingExempt, translate),
        flagField('sso_only', translate('organisations.sso-only'), ssoOnly, translate),
        unknownFieldsField(unknownFields, translate),
      ],
    },
    translate,
  );
}

const unknownFieldsField = (selectedMode: string | null, translate: Translate): FieldModel => ({
  id: 'unknown_fields',
  name: 'unknown_fields',
  type: 'select',
  label: translate('organisations.unknown_fields.label'),
  help: translate('organisations.unknown_fields.help'),
  options: ['', ...UNKNOWN_FIELD_MODES].map((value) => ({
    value,
    label: translate(`organisations.unknown_fields.${value === '' ? 'none' : value}`),
    selected: (selectedMode ?? '') === value,
  })),
});

const deleteAct = ({ id, name, version, users }: OrganisationLine, translate: Translate): ActModel =>
  actOf(
    {
      id: 'delete',
      label: translate('organisations.delete'),
      action: `${path}/${id}/delete`,
      version,
      danger: true,
      submit: translate('organisations.delete'),
      note: translate('organisations.delete-note'),
      fields: [confirmationField(name, translate)],
      ...(users > 0 ? { refusal: translate('organisations.not-empty', { count: users }) } : {}),
    },
    translate,
  );

export const organisationCsvColumns: CsvColumns<OrganisationLine> = {
  organisation_id: ({ id }) => id,
  name: ({ name }) => name,
  slug: ({ slug }) => slug,
  users: ({ users }) => users,
  keys: ({ keys }) => keys,
  spent_this_month_usd: (line) => formatUsd(line.spent),
  monthly_budget_usd: (line) => (line.budget === null ? null : formatUsd(line.budget)),
  billing_exempt: ({ billingExempt }) => billingExempt,
  billing_user: ({ billingUser }) => billingUser,
  created_at: ({ createdAt }) => createdAt,
};
