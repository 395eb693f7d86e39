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
import { raisedWords } from '../pages/budget-raise';
import type { Localisation } from '../../web';
import { type ActModel, actOf, type SectionModel } from '../pages/object-page';
import { percentOf } from './markup-words';
import type { BudgetLine, OrganisationFacts, OrganisationLine } from './organisation-view';

const path = '/dashboard/admin/organisations';

/** Figures first, each with the list it counts; lists of the admin view are linked while that is open. */
export function factsSection(
  facts: OrganisationFacts,
  isAdminView: boolean,
  month: string,
  { translate, locale }: Localisation,
): SectionModel {
  const { line, activeKeys, balance, priceFactor, domains } = facts;
  const { id } = line;
  const link = (key: string, value: string, href: string) => linkFigure(translate(key), value, href);
  const text = (key: string, value: string) => textFigure(translate(key), value);
  const seen = (key: string, value: string, href: string): LabelledFigure =>
    isAdminView ? link(key, value, href) : text(key, value);
  const hosts = domains.length === 0 ? '–' : domains.map(({ host }) => host).join(', ');
  return {
    id: 'facts',
    heading: translate('people.facts'),
    facts: [
      link('organisations.members', String(line.users), `/dashboard/admin/users?org_id=${id}`),
      link('departments.heading', String(line.departments), `/dashboard/admin/departments?org_id=${id}`),
      link('projects.heading', String(line.projects), `/dashboard/admin/projects?org_id=${id}`),
      seen(
        'organisations.active-keys',
        String(activeKeys),
        `/dashboard/keys?organisation=${id}&status=active`,
      ),
      seen(
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

/** It shows for the organisation, its departments and its projects what is used, and what raises them for a while. */
export function budgetsSection(
  { line, budgets, hasMoreProjects }: OrganisationFacts,
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
        column('organisations.budget-used', 'meter', (own) =>
          budgetMeter(labelOf(own), own.state, localisation),
        ),
        column('administration.raised', 'text', ({ state }) => raisedWords(state, localisation), 'minor'),
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
  const whole = state.limit + state.raised;
  const [used, limit] = formatMoneys(locale, [state.spent, whole]);
  return meter({
    label,
    used: state.spent,
    limit: whole,
    text: translate('keys.used-of', { used, limit, period: translate(`keys.period.${state.period}`) }),
  });
}
