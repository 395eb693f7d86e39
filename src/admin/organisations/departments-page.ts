import type { ListedDepartment, OrganisationName } from '../../identity';
import { formatMoney } from '../../views';
import { raisedFact, raiseInput } from '../pages/budget-raise';
import { type Localisation, describeMonth } from '../../web';
import { moneyField } from '../pages/money-field';
import {
  type ActModel,
  actOf,
  type ObjectPageModel,
  pickerOf,
  type SectionModel,
} from '../pages/object-page';
import type { WithBudget } from './budgets';

export type DepartmentLine = WithBudget<ListedDepartment>;

interface DepartmentsPageContext {
  readonly organisations: readonly OrganisationName[];
  readonly selectedId: number | null;
  readonly scopeText: string;
}

const path = '/dashboard/admin/departments';

export function departmentsPage(
  lines: readonly DepartmentLine[],
  { organisations, selectedId, scopeText }: DepartmentsPageContext,
  localisation: Localisation,
): ObjectPageModel {
  const { translate } = localisation;
  const name = {
    id: 'name',
    name: 'name',
    label: translate('people.name'),
    required: true,
    autocomplete: 'off',
  };
  const create = actOf(
    {
      id: 'new',
      label: translate('departments.new'),
      action: path,
      withoutReason: true,
      submit: translate('organisations.create'),
      fields: [
        ...(organisations.length === 0
          ? []
          : [
              pickerOf(
                { id: 'org_id', name: 'org_id', label: translate('people.organisation') },
                organisations,
                selectedId,
                null,
              ),
            ]),
        name,
        moneyField('monthly_budget', 'organisations.budget', undefined, translate),
      ],
    },
    translate,
  );
  return {
    page: {
      heading: translate('departments.heading'),
      scope: `${describeMonth(localisation)} · ${scopeText}`,
      sections: [
        { id: 'make', heading: translate('departments.new'), acts: [create] },
        ...lines.map((line) => sectionOf(line, localisation)),
      ],
    },
  };
}

function sectionOf(line: DepartmentLine, localisation: Localisation): SectionModel {
  const { locale, translate } = localisation;
  const { id, version } = line;
  const number = (key: string, value: number) => ({
    label: translate(key),
    figure: { kind: 'number', value } as const,
  });
  const edit = actOf(
    {
      id: `edit-${id}`,
      label: translate('departments.edit'),
      value: line.budget === null ? translate('people.no-limit') : formatMoney(locale, line.budget),
      action: `${path}/${id}`,
      version,
      fields: [
        {
          id: `name-${id}`,
          name: 'name',
          label: translate('people.name'),
          value: line.name,
          required: true,
          autocomplete: 'off',
        },
        {
          ...moneyField('monthly_budget', 'organisations.budget', line.budget ?? undefined, translate),
          id: `budget-${id}`,
        },
      ],
    },
    translate,
  );
  const raise = actOf(
    {
      id: `raise-${id}`,
      action: `${path}/${id}/budget-raise`,
      version,
      ...raiseInput(line.rule, localisation, `-${id}`),
    },
    translate,
  );
  return {
    id: `department-${id}`,
    heading: `${line.name} · ${line.organisation}`,
    facts: [
      number('organisations.users', line.users),
      number('organisations.keys', line.keys),
      { label: translate('organisations.spent'), figure: { kind: 'money', value: line.spent } },
      raisedFact(line.rule, localisation),
    ],
    acts: [edit, raise, deleteAct(line, translate)],
  };
}

const deleteAct = ({ id, version }: DepartmentLine, translate: Localisation['translate']): ActModel =>
  actOf(
    {
      id: `delete-${id}`,
      label: translate('departments.delete'),
      action: `${path}/${id}/delete`,
      version,
      danger: true,
      submit: translate('departments.delete'),
      note: translate('departments.delete-note'),
    },
    translate,
  );
