import type { MergeData, OrganisationName } from '../../identity';
import { atLeast, mayGrant, type Role, roles } from '../../kernel';
import type { FieldModel, LabelledFigure, Translate } from '../../views';
import { choicesOf } from '../pages/choices';
import { actOf, confirmationField, type ObjectPageModel, personField, pickerOf } from '../pages/object-page';

const path = '/dashboard/admin/organisations';
/** It is as many as other forms suggest; others can be typed. */
const MOST_SUGGESTED = 200;

const pageOf = (translate: Translate, sections: ObjectPageModel['page']['sections']): ObjectPageModel => ({
  page: {
    heading: translate('organisations.merge'),
    scope: translate('admin.all-organisations'),
    crumb: { label: translate('organisations.heading'), href: path },
    sections,
  },
});

/** The first step: which organisations. The address then names them. */
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

/** The second step: target, roles, payer, and the confirmation by name. */
export function mergePage(
  into: MergeData,
  from: readonly MergeData[],
  actor: Role,
  translate: Translate,
): ObjectPageModel {
  const people = [into, ...from].flatMap(({ members }) => members);
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
        personField(
          {
            id: 'billing_user_id',
            name: 'billing_user_id',
            label: translate('organisations.billing-user'),
            placeholder: translate('organisations.each-pays'),
            optional: true,
          },
          people.slice(0, MOST_SUGGESTED),
          into.billingUser,
        ),
        ...roleFields(from, actor, translate),
        confirmationField(into.organisation.name, translate),
      ],
    },
    translate,
  );
  const facts = [
    countsFact('organisations.target', into, translate),
    ...from.map((source) => countsFact('organisations.sources', source, translate)),
  ];
  return pageOf(translate, [
    { id: 'counts', heading: translate('people.facts'), facts },
    { id: 'roles', heading: translate('organisations.merge-roles'), acts: [act] },
  ]);
}

/** A role for each leader of a source, among those that the actor may grant. */
function roleFields(from: readonly MergeData[], actor: Role, translate: Translate): FieldModel[] {
  const grantable = roles.filter((role) => !atLeast(role, 'platform_admin') && mayGrant(actor, role));
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
