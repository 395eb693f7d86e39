import { randomUUID } from 'node:crypto';
import type { PaymentDifference, OwnedPayment, QuarantinedEvent, PaymentReconciliation } from '../../billing';
import { formatUsd, nanoPerCent } from '../../kernel';
import type { Page } from '../../platform';
import {
  type BannerModel,
  column,
  type PagerModel,
  type TableModel,
  tableOf,
  type Translate,
} from '../../views';
import { addressOf } from '../../web';

interface BillingAdminContext {
  readonly q: string;
  readonly payments: Page<OwnedPayment>;
  readonly quarantined: Page<QuarantinedEvent>;
  readonly report: PaymentReconciliation | null;
  readonly isConnected: boolean;
  readonly isTestMode: boolean;
  readonly isSandbox: boolean;
  readonly query: URLSearchParams;
}

export const billingAdminModel = (context: BillingAdminContext, translate: Translate) => ({
  // A separate token per form, so that a form submitted twice acts once.
  token: randomUUID(),
  q: context.q,
  isConnected: context.isConnected,
  banners: bannersOf(context, translate),
  payments: context.payments.rows.map(({ payment, email, refundToken }) => ({
    token: refundToken ?? randomUUID(),
    publicId: payment.publicId,
    email,
    walletId: payment.walletId,
    hasReceipt: payment.state === 'paid',
    at: payment.createdAt,
    charged: payment.grossCents * nanoPerCent,
    refunded: payment.refundedCents * nanoPerCent,
    credited: payment.creditedNano,
    statusWords: statusText(payment, translate),
    mayRefund: payment.state === 'paid' && payment.refundedCents < payment.grossCents,
    left: (payment.grossCents - payment.refundedCents) * nanoPerCent,
  })),
  paymentPager: pagerOf('cursor', translate('billing.payments.heading'), context.payments, {
    context,
    translate,
  }),
  events: context.quarantined.rows.map(({ eventId, type, receivedAt, problem, fact }) => ({
    eventId,
    type,
    receivedAt,
    problemWords: translate(`billing.desk.problem.${problem}`),
    factText: JSON.stringify(fact),
  })),
  eventPager: pagerOf('events', translate('billing.desk.quarantine'), context.quarantined, {
    context,
    translate,
  }),
  report: context.report === null ? null : reportOf(context.report, translate),
});

function pagerOf(
  name: 'cursor' | 'events',
  heading: string,
  { rows, previous, next }: Page<unknown>,
  { context: { query }, translate }: { context: BillingAdminContext; translate: Translate },
): PagerModel {
  const href = (cursor: string): string => addressOf('/dashboard/admin/billing', query, { [name]: cursor });
  return {
    label: translate('list.pages', { heading }),
    summary: translate('list.shown', { count: rows.length }),
    ...(previous === null ? {} : { newerHref: href(previous) }),
    ...(next === null ? {} : { olderHref: href(next) }),
  };
}

const statusText = ({ status, failedRefundCents }: OwnedPayment['payment'], translate: Translate): string => {
  const text = translate(`billing.status.${status}`);
  if (failedRefundCents === 0n) return text;
  const amount = `$${formatUsd(failedRefundCents * nanoPerCent, { fixed: 2 })}`;
  return `${text} · ${translate('billing.payments.refund-failed', { amount })}`;
};

const bannersOf = (
  { isConnected, isTestMode, isSandbox }: BillingAdminContext,
  translate: Translate,
): BannerModel[] => {
  const mode = isSandbox ? 'sandbox' : isTestMode ? 'test' : null;
  const name = isConnected ? mode : 'connect';
  if (name === null) return [];
  return [
    {
      tone: isConnected ? 'warn' : 'info',
      title: translate(`billing.banner.${name}-title`),
      text: translate(`billing.banner.${name}`),
    },
  ];
};

function reportOf({ since, compared, differences }: PaymentReconciliation, translate: Translate) {
  return {
    since,
    summary: translate('billing.desk.compared', { count: compared }),
    table: differenceTable(differences, translate),
  };
}

const differenceTable = (rows: readonly PaymentDifference[], translate: Translate): TableModel =>
  tableOf(
    rows,
    {
      caption: translate('billing.desk.differences'),
      columns: [
        column('billing.desk.intent', 'code', ({ intentId }) => intentId),
        column('billing.desk.difference', 'text', ({ problem }) =>
          translate(`billing.desk.differs.${problem}`),
        ),
        column('billing.desk.ours', 'money', ({ ours }) => ours * nanoPerCent),
        column('billing.desk.theirs', 'money', ({ theirs }) => theirs * nanoPerCent),
      ],
      empty: { title: translate('billing.desk.agree-title'), text: translate('billing.desk.agree-text') },
    },
    translate,
  );
