import type { Difference, OwnedPayment, QuarantinedEvent, Reconciliation } from '../../billing';
import { formatUsd, nanoPerCent } from '../../kernel';
import type { BannerModel, TableModel, Translate } from '../../views';

interface DeskFacts {
  readonly q: string;
  readonly payments: readonly OwnedPayment[];
  readonly quarantined: readonly QuarantinedEvent[];
  readonly report: Reconciliation | null;
  readonly isConnected: boolean;
  readonly isTestMode: boolean;
  /** An idempotency token: the same form sent twice acts once. */
  readonly token: string;
}

export const deskModel = (facts: DeskFacts, translate: Translate): object => ({
  token: facts.token,
  q: facts.q,
  isConnected: facts.isConnected,
  banners: bannersOf(facts, translate),
  payments: facts.payments.map(({ payment, email }) => ({
    publicId: payment.publicId,
    email,
    walletId: payment.walletId,
    hasReceipt: payment.state === 'paid',
    at: payment.createdAt,
    charged: payment.grossCents * nanoPerCent,
    refunded: payment.refundedCents * nanoPerCent,
    credited: payment.creditedNano,
    statusWords: statusWords(payment, translate),
    mayRefund: payment.state === 'paid' && payment.refundedCents < payment.grossCents,
    left: (payment.grossCents - payment.refundedCents) * nanoPerCent,
  })),
  events: facts.quarantined.map(({ eventId, type, receivedAt, problem, fact }) => ({
    eventId,
    type,
    receivedAt,
    problemWords: translate(`billing.desk.problem.${problem}`),
    factText: JSON.stringify(fact),
  })),
  report: facts.report === null ? null : reportOf(facts.report, translate),
});

const statusWords = (
  { status, failedRefundCents }: OwnedPayment['payment'],
  translate: Translate,
): string => {
  const words = translate(`billing.status.${status}`);
  if (failedRefundCents === 0n) return words;
  const amount = `$${formatUsd(failedRefundCents * nanoPerCent, { fixed: 2 })}`;
  return `${words} · ${translate('billing.payments.refund-failed', { amount })}`;
};

const bannersOf = ({ isConnected, isTestMode }: DeskFacts, translate: Translate): BannerModel[] => {
  const name = !isConnected ? 'connect' : isTestMode ? 'test' : null;
  if (name === null) return [];
  return [
    {
      tone: isConnected ? 'warn' : 'info',
      title: translate(`billing.banner.${name}-title`),
      text: translate(`billing.banner.${name}`),
    },
  ];
};

function reportOf({ since, compared, differences }: Reconciliation, translate: Translate): object {
  return {
    since,
    summary: translate('billing.desk.compared', { count: compared }),
    table: differenceTable(differences, translate),
  };
}

const differenceTable = (differences: readonly Difference[], translate: Translate): TableModel => ({
  caption: translate('billing.desk.differences'),
  columns: [
    { label: translate('billing.desk.intent') },
    { label: translate('billing.desk.difference') },
    { label: translate('billing.desk.ours'), align: 'end' },
    { label: translate('billing.desk.theirs'), align: 'end' },
  ],
  rows: differences.map(({ intentId, problem, ours, theirs }) => ({
    cells: [
      { kind: 'code', value: intentId, heading: true },
      { kind: 'text', value: translate(`billing.desk.differs.${problem}`) },
      { kind: 'money', value: ours * nanoPerCent, align: 'end' },
      { kind: 'money', value: theirs * nanoPerCent, align: 'end' },
    ],
  })),
  empty: { title: translate('billing.desk.agree-title'), text: translate('billing.desk.agree-text') },
});
