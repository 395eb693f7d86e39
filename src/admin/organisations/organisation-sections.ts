import type { LimitState } from '../../billing';
import {
  column,
  formatMoney,
  formatMoneys,
  type LabelledFigure,
  meter,
  type MeterModel,
  tableOf,
  type Translate,
} from '../../views';
import { raisedText } from '../pages/budget-raise';
import type { Localisation } from '../../web';
import { type ActModel, actOf, type SectionModel } from '../pages/object-page';
import { percentOf } from './markup-factor';
import type { BudgetLine, OrganisationDetails, OrganisationLine } from './organisation-details.query';

const path = '/dashboard/admin/organisations';

/**
 * Lists the figures, each with a link to the list behind it. Lists of the administration's view are linked only while
 * that view is open.
 */
export function factsSection(
  details: OrganisationDetails,
  isAdminView: boolean,
  month: string,
  { translate, locale }: Localisation,
): SectionModel {
  const { line, activeKeys, balance, priceFactor, domains } = details;
  const { id } = line;
  const link = (key: string, value: string, href: string) => linkFigure(translate(key), value, href);
  const text = (key: string, value: string) => textFigure(translate(key), value);
  const viewFigure = (key: string, value: string, href: string): LabelledFigure =>
    isAdminView ? link(key, value, href) : text(key, value);
  const hosts = domains.length === 0 ? '–' : domains.map(({ host }) => host).join(', ');
  return {
    id: 'facts',
    heading: translate('people.facts'),
    facts: [
      link('organisations.members', String(line.users), `/dashboard/admin/users?org_id=${id}`),
      link('departments.heading', String(line.departments), `/dashboard/admin/departments?org_id=${id}`),
      link('projects.heading', String(line.projects), `/dashboard/admin/projects?org_id=${id}`),
      viewFigure(
        'organisations.active-keys',
        String(activeKeys),
        `/dashboard/keys?organisation=${id}&status=active`,
      ),
      viewFigure(
        'organisations.spent-month',
        formatMoney(locale, line.spent),
        `/dashboard/usage?organisation=${id}&from=${month}&zone=UTC`,
      ),
      payerFigure(line, translate),
      ...(balance === null
        ? []
        : [
            { label: translate('organisations.balance'), figure: { kind: 'money', value: balance } as const },
          ]),
      text(
        'organisations.exempt',
        translate(line.billingExempt ? 'administration.yes' : 'administration.no'),
      ),
      link('markups.set', percentOf(priceFactor), `${path}/${id}/markup`),
      link('domains.heading', hosts, `${path}/${id}/domains`),
      { label: translate('people.created'), figure: { kind: 'time', value: line.createdAt } },
    ],
    ...(isAdminView ? {} : { acts: [openViewAct(id, translate)] }),
  };
}

const linkFigure = (label: string, value: string, href: string): LabelledFigure => ({
  label,
  figure: { kind: 'link', value, href },
});

const textFigure = (label: string, value: string): LabelledFigure => ({
  label,
  figure: { kind: 'text', value },
});

function payerFigure({ billingUserId, billingUser }: OrganisationLine, translate: Translate): LabelledFigure {
  const label = translate('organisations.billing-user');
  if (billingUserId === null) return textFigure(label, translate('organisations.each-pays'));
  const href = `/dashboard/admin/users/${billingUserId}?tab=billing`;
  return linkFigure(label, billingUser ?? String(billingUserId), href);
}

const openViewAct = (id: number, translate: Translate): ActModel =>
  actOf(
    {
      id: 'open-view',
      label: translate('organisations.open-view'),
      action: '/dashboard/toggle-admin-mode',
      withoutReason: true,
      note: translate('organisations.open-view-note'),
      submit: translate('admin.open'),
      hidden: [
        { name: 'admin_mode', value: 'on' },
        { name: 'next', value: `${path}/${id}` },
      ],
    },
    translate,
  );

export function budgetsSection(
  { line, budgets, hasMoreProjects }: OrganisationDetails,
  localisation: Localisation,
): SectionModel {
  const { translate } = localisation;
  const labelOf = ({ name }: BudgetLine): string => name ?? translate('organisations.whole');
  const table = tableOf(
    budgets,
    {
      caption: translate('organisations.budgets'),
      columns: [
        column('organisations.budget-of', 'text', labelOf),
        column('organisations.budget-used', 'meter', (budget) =>
          budgetMeter(labelOf(budget), budget.state, localisation),
        ),
        column('administration.raised', 'text', ({ state }) => raisedText(state, localisation), 'minor'),
      ],
      row: ({ href }) => ({ href }),
      empty: {
        title: translate('organisations.no-budgets-title'),
        text: translate('organisations.no-budgets-text'),
      },
    },
    translate,
  );
  const more: LabelledFigure = {
    label: translate('organisations.more-projects'),
    figure: {
      kind: 'link',
      value: translate('projects.heading'),
      href: `/dashboard/admin/projects?org_id=${line.id}`,
    },
  };
  return {
    id: 'budgets',
    heading: translate('organisations.budgets'),
    table,
    ...(hasMoreProjects ? { facts: [more] } : {}),
  };
}

function budgetMeter(label: string, state: LimitState, { locale, translate }: Localisation): MeterModel {
  const total = state.limit + state.raised;
  const [used, limit] = formatMoneys(locale, [state.spent, total]);
  return meter({
    label,
    used: state.spent,
    limit: total,
    text: translate('keys.used-of', { used, limit, period: translate(`keys.period.${state.period}`) }),
  });
}
