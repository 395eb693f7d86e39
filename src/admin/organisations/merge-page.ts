import type { MergeData, OrganisationName } from '../../identity';
import { atLeast, canGrant, type UserRole, roles } from '../../kernel';
import type { FieldModel, LabelledFigure, Translate } from '../../views';
import { choicesOf } from '../pages/choices';
import { actOf, confirmationField, type ObjectPageModel, userField, pickerOf } from '../pages/object-page';

const path = '/dashboard/admin/organisations';
const MAX_SUGGESTIONS = 200;

const pageOf = (translate: Translate, sections: ObjectPageModel['page']['sections']): ObjectPageModel => ({
  page: {
    heading: translate('organisations.merge'),
    scope: translate('admin.all-organisations'),
    crumb: { label: translate('organisations.heading'), href: path },
    sections,
  },
});

export function chooseMergePage(
  organisations: readonly OrganisationName[],
  target: number | null,
  translate: Translate,
): ObjectPageModel {
  const sources: FieldModel = {
    id: 'source_org_ids',
    name: 'source_org_ids',
    label: translate('organisations.sources'),
    help: translate('organisations.sources-help'),
    type: 'select',
    required: true,
    options: organisations
      .filter(({ id }) => id !== target)
      .map(({ id, name }) => ({ value: String(id), label: name })),
  };
  const act = actOf(
    {
      id: 'choose',
      label: translate('organisations.merge'),
      action: `${path}/merge`,
      method: 'get',
      open: true,
      withoutReason: true,
      submit: translate('organisations.continue'),
      fields: [
        pickerOf(
          { id: 'target_org_id', name: 'target_org_id', label: translate('organisations.target') },
          organisations,
          target,
          null,
        ),
        sources,
      ],
    },
    translate,
  );
  return pageOf(translate, [{ id: 'choose-organisations', acts: [act] }]);
}

export function mergePage(
  into: MergeData,
  from: readonly MergeData[],
  actor: UserRole,
  translate: Translate,
): ObjectPageModel {
  const users = [into, ...from].flatMap(({ members }) => members);
  const act = actOf(
    {
      id: 'merge',
      label: translate('organisations.merge'),
      action: `${path}/merge`,
      open: true,
      danger: true,
      note: translate('organisations.merge-note'),
      submit: translate('organisations.merge'),
      hidden: [
        { name: 'target_org_id', value: String(into.organisation.id) },
        { name: 'source_org_ids', value: from.map(({ organisation }) => organisation.id).join(',') },
      ],
      fields: [
        userField(
          {
            id: 'billing_user_id',
            name: 'billing_user_id',
            label: translate('organisations.billing-user'),
            placeholder: translate('organisations.each-pays'),
            optional: true,
          },
          users.slice(0, MAX_SUGGESTIONS),
          into.billingUser,
        ),
        ...roleFields(from, actor, translate),
        confirmationField(into.organisation.name, translate),
      ],
    },
    translate,
  );
  const figures = [
    countsFact('organisations.target', into, translate),
    ...from.map((source) => countsFact('organisations.sources', source, translate)),
  ];
  return pageOf(translate, [
    { id: 'counts', heading: translate('people.facts'), facts: figures },
    { id: 'roles', heading: translate('organisations.merge-roles'), acts: [act] },
  ]);
}

function roleFields(from: readonly MergeData[], actor: UserRole, translate: Translate): FieldModel[] {
  const grantable = roles.filter((role) => !atLeast(role, 'platform_admin') && canGrant(actor, role));
  return from
    .flatMap(({ leaders }) => leaders)
    .map(({ id, email, role }) => ({
      id: `role_${id}`,
      name: `role_${id}`,
      type: 'select',
      label: email,
      options: choicesOf(grantable, role, (choice) => translate(`people.role.${choice}`)),
    }));
}

const countsFact = (
  label: string,
  { organisation, users, keys, projects, departments }: MergeData,
  translate: Translate,
): LabelledFigure => ({
  label: translate(label),
  figure: {
    kind: 'text',
    value: translate('organisations.merge-counts', {
      name: organisation.name,
      users,
      keys,
      projects,
      departments,
    }),
  },
});
