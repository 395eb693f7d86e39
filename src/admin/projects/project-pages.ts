import type { ListedProject, Member, OrganisationName, UserName } from '../../identity';
import { formatUsd, type Scope } from '../../kernel';
import type { FieldModel, TableModel, Translate } from '../../views';
import { type HttpRequest, type ListDescription, type Localisation, monthWords, scopeWords } from '../../web';
import { raisedFact, raiseInput } from '../pages/budget-raise';
import { choicesOf } from '../pages/choices';
import { moneyField } from '../pages/money-field';
import {
  type ActModel,
  actOf,
  type ObjectPageModel,
  personField,
  pickerOf,
  type SectionModel,
} from '../pages/object-page';
import { tableOf } from '../pages/table';
import type { ProjectListQuery } from './project-forms';
import type { WithBudget } from '../organisations/budgets';

export type ProjectLine = WithBudget<ListedProject>;

const path = '/dashboard/admin/projects';

export function projectList(
  request: HttpRequest,
  query: ProjectListQuery,
  { organisations, scope }: { readonly organisations: readonly OrganisationName[]; readonly scope: Scope },
  localisation: Localisation,
): ListDescription<ProjectLine> {
  const { translate } = localisation;
  const make = { label: translate('projects.new'), href: `${path}/new` };
  return {
    heading: translate('projects.heading'),
    scope: `${monthWords(localisation)} · ${scopeWords(request, translate, scope)}`,
    columns: [
      { label: translate('people.name') },
      { label: translate('people.organisation'), minor: true },
      { label: translate('projects.made-by'), minor: true },
      { label: translate('projects.members'), align: 'end' },
      { label: translate('organisations.keys'), align: 'end', minor: true },
      { label: translate('organisations.spent'), align: 'end' },
      { label: translate('organisations.budget'), align: 'end', minor: true },
    ],
    fields: filterFieldsOf(query, organisations, translate),
    row: (project) => ({
      href: `${path}/${project.id}`,
      cells: [
        { kind: 'text', value: project.name, heading: true },
        { kind: 'text', value: project.organisation ?? '–', minor: true },
        { kind: 'text', value: project.createdBy, minor: true },
        { kind: 'number', value: project.members, align: 'end' },
        { kind: 'number', value: project.keys, align: 'end', minor: true },
        { kind: 'money', value: project.spent, align: 'end' },
        { kind: 'money', value: project.budget, align: 'end', minor: true },
      ],
    }),
    nothingYet: {
      title: translate('projects.nothing-title'),
      text: translate('projects.nothing-text'),
      action: make,
    },
    actions: [make],
  };
}

/** What projects are for, until its reader puts it away. */
export const projectHelp = (closed: boolean, translate: Translate): object => ({
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

interface People {
  readonly members: readonly Member[];
  readonly people: readonly UserName[];
}

export function projectPage(
  project: ProjectLine,
  { members, people }: People,
  localisation: Localisation,
): ObjectPageModel {
  const { translate } = localisation;
  const isArchived = project.archivedAt !== null;
  const acts = isArchived
    ? []
    : [editAct(project, people, translate), raiseAct(project, localisation), archiveAct(project, translate)];
  return {
    page: {
      heading: project.name,
      scope: `${project.organisation ?? translate('people.no-organisation')} · ${monthWords(localisation)}`,
      crumb: { label: translate('projects.heading'), href: path },
      sections: [
        factsSection(project, localisation),
        {
          id: 'members',
          heading: translate('projects.members'),
          table: membersTable(members, translate),
          acts: isArchived ? [] : memberActs(project, { members, people }, translate),
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

const membersTable = (members: readonly Member[], translate: Translate): TableModel =>
  tableOf(
    {
      caption: 'projects.members',
      columns: ['people.email', 'people.name', { key: 'people.created', minor: true }],
      rows: members.map(({ id, email, name, addedAt }) => ({
        href: `/dashboard/admin/users/${id}`,
        cells: [
          { kind: 'text', value: email },
          { kind: 'text', value: name },
          { kind: 'date', value: addedAt },
        ],
      })),
    },
    translate,
  );

const editAct = (project: ProjectLine, people: readonly UserName[], translate: Translate): ActModel =>
  actOf(
    {
      id: 'edit',
      label: translate('projects.edit'),
      value: project.billingUser ?? translate('projects.usual-payer'),
      action: `${path}/${project.id}`,
      version: project.version,
      fields: [
        nameField(project.name, translate),
        personField(
          {
            id: 'billing_user_id',
            name: 'billing_user_id',
            label: translate('organisations.billing-user'),
            placeholder: translate('projects.usual-payer'),
            optional: true,
          },
          people,
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

function memberActs({ id }: ProjectLine, { members, people }: People, translate: Translate): ActModel[] {
  const inside = new Set(members.map((member) => member.id));
  const others = people.filter((person) => !inside.has(person.id));
  const add = actOf(
    {
      id: 'add-member',
      label: translate('projects.add-member'),
      action: `${path}/${id}/members`,
      fields: [
        personField(
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

export const projectColumns = [
  'project_id',
  'name',
  'organisation',
  'created_by',
  'billing_user',
  'members',
  'keys',
  'spent_this_month_usd',
  'monthly_budget_usd',
  'created_at',
  'archived_at',
] as const;

export const projectRow = (line: ProjectLine): readonly unknown[] => [
  line.id,
  line.name,
  line.organisation,
  line.createdBy,
  line.billingUser,
  line.members,
  line.keys,
  formatUsd(line.spent),
  line.budget === null ? null : formatUsd(line.budget),
  line.createdAt,
  line.archivedAt,
];
