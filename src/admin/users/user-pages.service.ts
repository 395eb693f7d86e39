import { Injectable } from '@nestjs/common';
import { ActivityQuery, actionText, allTokens, type Changes, type UsageGroup, UsageQuery } from '../../audit';
import { budgetsOfUser, type InvoicePayment, Invoices, Ledger, Limits } from '../../billing';
import { Departments, deviceName, SecondFactors, SessionsService } from '../../identity';
import { resolvePeriod } from '../../kernel';
import { KeyRegister } from '../../keys';
import { column, type Figure, type TableColumn, type TableModel, tableOf, type Translate } from '../../views';
import { type Localisation, describePeriod } from '../../web';
import type { ObjectPageModel, SectionModel } from '../pages/object-page';
import { raisedText } from '../pages/budget-raise';
import type { UserPageContext } from './user-page-context';
import { actsOf, hasInvoices, type UserFinances } from './user-acts-model';
import { userTabs, type UserTab } from './users.dto';
import { billingText, statusBadge } from './user-list';

const MAX_ROWS = 50;
const USAGE_DAYS = 30;
const MAX_MODELS = 100;

@Injectable()
export class UserPages {
  constructor(
    private readonly departments: Departments,
    private readonly factors: SecondFactors,
    private readonly keys: KeyRegister,
    private readonly ledger: Ledger,
    private readonly limits: Limits,
    private readonly invoices: Invoices,
    private readonly sessions: SessionsService,
    private readonly activity: ActivityQuery,
    private readonly usage: UsageQuery,
  ) {}

  async page(context: UserPageContext, localisation: Localisation): Promise<ObjectPageModel> {
    const { user, query } = context;
    const { translate } = localisation;
    const current = query.tab ?? 'overview';
    const path = `/dashboard/admin/users/${user.id}`;
    return {
      page: {
        heading: user.displayName === '' ? user.email : user.displayName,
        scope: `${user.email} · ${user.organisation ?? translate('people.no-organisation')}`,
        crumb: { label: translate('people.heading'), href: '/dashboard/admin/users' },
        tabs: {
          label: translate('people.user-tabs'),
          items: userTabs.map((tab) => ({
            label: translate(`people.user-tab.${tab}`),
            href: tab === 'overview' ? path : `${path}?tab=${tab}`,
            current: tab === current,
          })),
        },
        sections: await this.sectionsOf(current, context, localisation),
      },
    };
  }

  private async sectionsOf(
    tab: UserTab,
    context: UserPageContext,
    localisation: Localisation,
  ): Promise<SectionModel[]> {
    switch (tab) {
      case 'overview':
        return this.overview(context, localisation);
      case 'keys':
        return [await this.keysOf(context, localisation)];
      case 'usage':
        return [await this.usageOf(context, localisation)];
      case 'billing':
        return this.billingOf(context, localisation);
      case 'sessions':
        return [await this.sessionsOf(context, localisation)];
      case 'audit':
        return [await this.auditOf(context, localisation)];
    }
  }

  private async overview(context: UserPageContext, localisation: Localisation): Promise<SectionModel[]> {
    const { user } = context;
    const { translate } = localisation;
    const fact = (key: string, figure: Figure) => ({ label: translate(key), figure });
    const [money, departments, hasSecondFactor] = await Promise.all([
      this.loadFinances(user.id),
      user.organisationId === null ? [] : this.departments.list(context.acting.scope, user.organisationId),
      this.factors.isEnabled(user.id),
    ]);
    return [
      {
        id: 'facts',
        heading: translate('people.facts'),
        facts: [
          fact('people.email', { kind: 'copy', value: user.email }),
          fact('people.status-label', { kind: 'badge', value: statusBadge(user.status, translate) }),
          fact('people.role-label', { kind: 'text', value: translate(`people.role.${user.role}`) }),
          fact('people.billing-type-label', { kind: 'text', value: billingText(user, translate) }),
          fact('people.created', { kind: 'time', value: user.createdAt }),
          fact('people.last-seen', { kind: 'time', value: user.lastSeenAt }),
        ],
      },
      {
        id: 'changes',
        heading: translate('people.changes'),
        acts: actsOf(context, money, { departments, hasSecondFactor }, localisation),
      },
    ];
  }

  private async loadFinances(userId: number): Promise<UserFinances> {
    const [wallet, [monthly = null, budget = null], invoice, { rows: payments }] = await Promise.all([
      this.ledger.wallet(userId),
      this.limits.states(budgetsOfUser(userId)),
      this.invoices.state(userId),
      this.invoices.payments(userId, { limit: MAX_ROWS }),
    ]);
    return { wallet, monthly, budget, invoice, payments };
  }

  private async keysOf(
    { user, acting }: UserPageContext,
    { translate }: Localisation,
  ): Promise<SectionModel> {
    const { rows } = await this.keys.list(acting.scope, { userId: user.id, limit: MAX_ROWS });
    return section(
      'keys',
      rows,
      [
        column('people.name', 'text', ({ name }) => name),
        column('people.status-label', 'text', ({ status }) => translate(`people.key-status.${status}`)),
        column('people.budget', 'money', ({ budget }) => budget?.limit ?? null),
        column('people.created', 'date', ({ createdAt }) => createdAt, 'minor'),
      ],
      translate,
    );
  }

  private async usageOf(
    { user, acting }: UserPageContext,
    localisation: Localisation,
  ): Promise<SectionModel> {
    const { translate, timeZone } = localisation;
    const period = resolvePeriod({ days: USAGE_DAYS }, timeZone, Date.now());
    const { groups } = await this.usage.read(acting.scope, {
      ...period,
      zone: timeZone,
      bucket: 'month',
      groupBy: 'model',
      filter: { userId: user.id },
      mostGroups: MAX_MODELS,
    });
    const nameOf = ({ kind, label }: UsageGroup): string =>
      kind === 'none' ? translate('usage.none.model') : (label ?? translate('usage.others'));
    const table = section(
      'usage',
      groups,
      [
        column('people.usage.model', 'text', nameOf),
        column('people.usage.requests', 'number', ({ sums }) => sums.requests),
        column('people.usage.failures', 'number', ({ sums }) => sums.failures, 'minor'),
        column('people.usage.tokens', 'compact', ({ sums }) => allTokens(sums), 'minor'),
        column('people.usage.cost', 'cost', ({ sums }) => sums.costNano),
      ],
      translate,
    );
    return { ...table, scope: describePeriod(period, localisation, { days: USAGE_DAYS }) };
  }

  private async billingOf(context: UserPageContext, localisation: Localisation): Promise<SectionModel[]> {
    const { user } = context;
    const { translate } = localisation;
    const [finances, lines] = await Promise.all([
      this.loadFinances(user.id),
      this.ledger.lines(user.id, MAX_ROWS),
    ]);
    const { wallet, monthly, budget, invoice, payments } = finances;
    const money = (key: string, value: bigint | null) => ({
      label: translate(key),
      figure: { kind: 'money', value } as const,
    });
    const facts = [
      money('people.balance', wallet.balance),
      money('people.held', wallet.escrowed),
      money('people.credit-limit', wallet.creditLimit),
      money('people.act.monthly-budget', monthly?.limit ?? null),
      money('people.monthly-budget-used', monthly?.spent ?? null),
      money('people.budget', budget?.limit ?? null),
      money('people.budget-used', budget?.spent ?? null),
      {
        label: translate('people.act.budget-raise'),
        figure: { kind: 'text', value: raisedText(budget, localisation) } as const,
      },
    ];
    const table = tableOf(
      lines,
      {
        caption: translate('people.ledger'),
        columns: [
          column('people.when', 'time', ({ at }) => at),
          column('people.what', 'text', ({ kind }) => kind),
          column('people.amount', 'money', ({ amount }) => amount),
        ],
      },
      translate,
    );
    return [
      ...(hasInvoices(context, finances)
        ? [
            {
              id: 'invoices',
              heading: translate('people.invoice.heading'),
              facts: [
                money('people.invoice.owed', invoice.owed),
                money('people.invoice.credit', invoice.credit),
              ],
              table: paymentTable(payments, translate),
            },
          ]
        : []),
      { id: 'wallet', heading: translate('people.wallet'), facts },
      { id: 'ledger', heading: translate('people.ledger'), table },
    ];
  }

  private async sessionsOf({ user }: UserPageContext, { translate }: Localisation): Promise<SectionModel> {
    return section(
      'sessions',
      await this.sessions.listOf(user.id),
      [
        column('people.session.browser', 'text', ({ userAgent }) => deviceName(userAgent) ?? '–'),
        column('people.session.address', 'text', ({ address }) => address ?? '–'),
        column('people.last-seen', 'time', ({ lastSeenAt }) => lastSeenAt),
        column('people.created', 'time', ({ createdAt }) => createdAt, 'minor'),
      ],
      translate,
    );
  }

  /** Entries about the account; the user's own actions on other objects are in the audit log. */
  private async auditOf(
    { user, acting }: UserPageContext,
    { translate }: Localisation,
  ): Promise<SectionModel> {
    const { rows } = await this.activity.page(acting.scope, {
      object: { type: 'account', id: String(user.id) },
      limit: MAX_ROWS,
    });
    return section(
      'audit',
      rows,
      [
        column('people.when', 'time', ({ occurredAt }) => occurredAt),
        column('people.what', 'text', ({ action }) => actionText(action, translate)),
        column('people.who', 'text', ({ actor }) => actor.label, 'minor'),
        column('people.change', 'text', ({ changes }) => changesText(changes)),
        column('administration.reason', 'text', ({ reason }) => reason ?? '–', 'minor'),
      ],
      translate,
    );
  }
}

const section = <Row>(
  tab: UserTab,
  rows: readonly Row[],
  columns: readonly TableColumn<Row>[],
  translate: Translate,
): SectionModel => {
  const heading = translate(`people.user-tab.${tab}`);
  return { id: tab, heading, table: tableOf(rows, { caption: heading, columns }, translate) };
};

const paymentTable = (payments: readonly InvoicePayment[], translate: Translate): TableModel =>
  tableOf(
    payments,
    {
      caption: translate('people.invoice.payments'),
      columns: [
        column('people.when', 'time', ({ recordedAt }) => recordedAt),
        column('people.invoice.reference', 'text', ({ reference }) => reference),
        column('people.status-label', 'text', ({ undoneAt }) =>
          translate(undoneAt === null ? 'people.invoice.stands' : 'people.invoice.undone'),
        ),
        column('people.amount', 'money', ({ amount }) => amount),
      ],
    },
    translate,
  );

const changesText = (changes: Changes | null): string =>
  Object.entries(changes ?? {})
    .map(([name, [before, after]]) => `${name}: ${valueText(before)} → ${valueText(after)}`)
    .join('; ');

const valueText = (value: unknown): string =>
  value === null ? '–' : typeof value === 'string' ? value : JSON.stringify(value);
