import type { ListedProject, ListedMember, OrganisationName, UserName } from '../../identity';
import { formatUsd, type Scope } from '../../kernel';
import { column, type FieldModel, type TableModel, tableOf, type Translate } from '../../views';
import {
  type CsvColumns,
  type HttpRequest,
  type ListDescription,
  type Localisation,
  describeMonth,
  describeScope,
} from '../../web';
import { raisedFact, raiseInput } from '../pages/budget-raise';
import { choicesOf } from '../pages/choices';
import { moneyField } from '../pages/money-field';
import {
  type ActModel,
  actOf,
  type ObjectPageModel,
  userField,
  pickerOf,
  type SectionModel,
} from '../pages/object-page';
import type { WithBudget } from '../organisations/budgets';
import type { ProjectListQuery } from './projects.dto';

export type ProjectLine = WithBudget<ListedProject>;

const path = '/dashboard/admin/projects';

export function projectList(
  request: HttpRequest,
  query: ProjectListQuery,
  { organisations, scope }: { readonly organisations: readonly OrganisationName[]; readonly scope: Scope },
  localisation: Localisation,
): ListDescription<ProjectLine> {
  const { translate } = localisation;
  const newProjectLink = { label: translate('projects.new'), href: `${path}/new` };
  return {
    heading: translate('projects.heading'),
    scope: `${describeMonth(localisation)} · ${describeScope(request, translate, scope)}`,
    columns: [
      column('people.name', 'text', ({ name }) => name),
      column('people.organisation', 'text', ({ organisation }) => organisation ?? '–', 'minor'),
      column('projects.made-by', 'text', ({ createdBy }) => createdBy, 'minor'),
      column('projects.members', 'number', ({ members }) => members),
      column('organisations.keys', 'number', ({ keys }) => keys, 'minor'),
      column('organisations.spent', 'money', ({ spent }) => spent),
      column('organisations.budget', 'money', ({ budget }) => budget, 'minor'),
    ],
    fields: filterFieldsOf(query, organisations, translate),
    row: ({ id }) => ({ href: `${path}/${id}` }),
    nothingYet: {
      title: translate('projects.nothing-title'),
      text: translate('projects.nothing-text'),
      action: newProjectLink,
    },
    actions: [newProjectLink],
  };
}

export const projectHelp = (closed: boolean, translate: Translate) => ({
  closed,
  path: '/dashboard/projects/help',
  heading: translate('projects.help-title'),
  text: translate('projects.help-text'),
});

function filterFieldsOf(
  query: ProjectListQuery,
  organisations: readonly OrganisationName[],
  translate: Translate,
): FieldModel[] {
  const fields: FieldModel[] = [
    {
      id: 'filter-text',
      name: 'q',
      type: 'search',
      label: translate('projects.search'),
      value: query.q ?? '',
      filterKey: true,
    },
    {
      id: 'filter-state',
      name: 'state',
      type: 'select',
      label: translate('projects.state'),
      options: choicesOf(['', 'archived'], query.state ?? '', (state) =>
        translate(state === '' ? 'projects.active' : 'projects.archived'),
      ),
    },
  ];
  if (organisations.length > 0) {
    const picker = { id: 'filter-organisation', name: 'org_id', label: translate('people.organisation') };
    fields.push(pickerOf(picker, organisations, query.org_id ?? null, translate('list.all')));
  }
  return fields;
}

const nameField = (value: string, translate: Translate): FieldModel => ({
  id: 'name',
  name: 'name',
  label: translate('people.name'),
  value,
  required: true,
  autocomplete: 'off',
});

export function newProjectPage(
  organisations: readonly OrganisationName[],
  translate: Translate,
): ObjectPageModel {
  const act = actOf(
    {
      id: 'create',
      label: translate('projects.new'),
      action: path,
      open: true,
      withoutReason: true,
      submit: translate('organisations.create'),
      fields: [
        nameField('', translate),
        ...(organisations.length === 0
          ? []
          : [
              pickerOf(
                { id: 'org_id', name: 'org_id', label: translate('people.organisation') },
                organisations,
                null,
                translate('people.no-organisation'),
              ),
            ]),
        moneyField('monthly_budget', 'organisations.budget', undefined, translate),
      ],
    },
    translate,
  );
  return {
    page: {
      heading: translate('projects.new'),
      scope: translate('projects.nothing-text'),
      crumb: { label: translate('projects.heading'), href: path },
      sections: [{ id: 'new', heading: translate('projects.new'), acts: [act] }],
    },
  };
}

interface ProjectUsers {
  readonly members: readonly ListedMember[];
  readonly users: readonly UserName[];
}

export function projectPage(
  project: ProjectLine,
  { members, users }: ProjectUsers,
  localisation: Localisation,
): ObjectPageModel {
  const { translate } = localisation;
  const isArchived = project.archivedAt !== null;
  const acts = isArchived
    ? []
    : [editAct(project, users, translate), raiseAct(project, localisation), archiveAct(project, translate)];
  return {
    page: {
      heading: project.name,
      scope: `${project.organisation ?? translate('people.no-organisation')} · ${describeMonth(localisation)}`,
      crumb: { label: translate('projects.heading'), href: path },
      sections: [
        factsSection(project, localisation),
        {
          id: 'members',
          heading: translate('projects.members'),
          table: membersTable(members, translate),
          acts: isArchived ? [] : memberActs(project, { members, users }, translate),
        },
        ...(acts.length === 0 ? [] : [{ id: 'changes', heading: translate('people.changes'), acts }]),
      ],
    },
  };
}

function factsSection(project: ProjectLine, localisation: Localisation): SectionModel {
  const { translate } = localisation;
  const isArchived = project.archivedAt !== null;
  return {
    id: 'facts',
    heading: translate('people.facts'),
    facts: [
      {
        label: translate('projects.state'),
        figure: {
          kind: 'text',
          value: translate(isArchived ? 'projects.archived' : 'projects.active'),
        },
      },
      { label: translate('organisations.keys'), figure: { kind: 'number', value: project.keys } },
      { label: translate('organisations.spent'), figure: { kind: 'money', value: project.spent } },
      { label: translate('organisations.budget'), figure: { kind: 'money', value: project.budget } },
      raisedFact(project.rule, localisation),
      { label: translate('projects.made-by'), figure: { kind: 'text', value: project.createdBy } },
    ],
  };
}

const membersTable = (members: readonly ListedMember[], translate: Translate): TableModel =>
  tableOf(
    members,
    {
      caption: translate('projects.members'),
      columns: [
        column('people.email', 'text', ({ email }) => email),
        column('people.name', 'text', ({ name }) => name),
        column('people.created', 'date', ({ addedAt }) => addedAt, 'minor'),
      ],
      row: ({ id }) => ({ href: `/dashboard/admin/users/${id}` }),
    },
    translate,
  );

const editAct = (project: ProjectLine, users: readonly UserName[], translate: Translate): ActModel =>
  actOf(
    {
      id: 'edit',
      label: translate('projects.edit'),
      value: project.billingUser ?? translate('projects.usual-payer'),
      action: `${path}/${project.id}`,
      version: project.version,
      fields: [
        nameField(project.name, translate),
        userField(
          {
            id: 'billing_user_id',
            name: 'billing_user_id',
            label: translate('organisations.billing-user'),
            placeholder: translate('projects.usual-payer'),
            optional: true,
          },
          users,
          project.billingUser,
        ),
        moneyField('monthly_budget', 'organisations.budget', project.budget ?? undefined, translate),
      ],
    },
    translate,
  );

const raiseAct = (project: ProjectLine, localisation: Localisation): ActModel =>
  actOf(
    {
      id: 'budget-raise',
      action: `${path}/${project.id}/budget-raise`,
      version: project.version,
      ...raiseInput(project.rule, localisation),
    },
    localisation.translate,
  );

const archiveAct = (project: ProjectLine, translate: Translate): ActModel =>
  actOf(
    {
      id: 'archive',
      label: translate('projects.archive'),
      action: `${path}/${project.id}/archive`,
      version: project.version,
      danger: true,
      submit: translate('projects.archive'),
      note: translate('projects.archive-note'),
    },
    translate,
  );

function memberActs({ id }: ProjectLine, { members, users }: ProjectUsers, translate: Translate): ActModel[] {
  const memberIds = new Set(members.map((member) => member.id));
  const others = users.filter((user) => !memberIds.has(user.id));
  const add = actOf(
    {
      id: 'add-member',
      label: translate('projects.add-member'),
      action: `${path}/${id}/members`,
      fields: [
        userField(
          { id: 'user_id', name: 'user_id', label: translate('projects.member'), required: true },
          others,
          null,
        ),
      ],
      submit: translate('projects.add-member'),
    },
    translate,
  );
  const removals = members.map((member) =>
    actOf(
      {
        id: `remove-${member.id}`,
        label: translate('projects.remove-member'),
        value: member.email,
        action: `${path}/${id}/members/${member.id}/remove`,
        danger: true,
        submit: translate('projects.remove-member'),
        note: translate('projects.remove-member-note'),
      },
      translate,
    ),
  );
  return [add, ...removals];
}

export const projectCsvColumns: CsvColumns<ProjectLine> = {
  project_id: ({ id }) => id,
  name: ({ name }) => name,
  organisation: ({ organisation }) => organisation,
  created_by: ({ createdBy }) => createdBy,
  billing_user: ({ billingUser }) => billingUser,
  members: ({ members }) => members,
  keys: ({ keys }) => keys,
  spent_this_month_usd: (line) => formatUsd(line.spent),
  monthly_budget_usd: (line) => (line.budget === null ? null : formatUsd(line.budget)),
  created_at: ({ createdAt }) => createdAt,
  archived_at: ({ archivedAt }) => archivedAt,
};
