import type { Payment, PaymentStatus } from '../../billing';
import { formatUsd, nanoPerCent } from '../../kernel';
import type { BannerModel, ColumnModel, EmptyModel, RowModel, TabsModel, Tone, Translate } from '../../views';
import type { ListDescription } from '../../web';
import type { WalletParty } from './wallet-party';

const tones: Readonly<Record<PaymentStatus, Tone>> = {
  open: 'info',
  failed: 'bad',
  expired: 'neutral',
  paid: 'ok',
  partially_refunded: 'warn',
  refunded: 'neutral',
  disputed: 'bad',
};

/** Says that no money moves; null where it does. */
export function modeBanner(
  { isSandbox, isTestMode }: { readonly isSandbox: boolean; readonly isTestMode: boolean },
  translate: Translate,
): BannerModel | null {
  if (!isSandbox && !isTestMode) return null;
  const name = isSandbox ? 'sandbox' : 'test';
  return {
    tone: 'warn',
    title: translate(`billing.banner.${name}-title`),
    text: translate(`billing.banner.${name}`),
  };
}

const tabNames = {
  overview: '',
  payments: '/payments',
  ledger: '/ledger',
  statements: '/statements',
} as const;

export const billingTabs = (
  current: keyof typeof tabNames,
  translate: Translate,
  { isBeside }: Pick<WalletParty, 'isBeside'>,
): TabsModel => ({
  label: translate('billing.heading'),
  items: Object.entries(tabNames).map(([name, path]) => ({
    label: translate(`billing.tab.${name}`),
    href: `/dashboard/billing${path}${isBeside ? '?own=1' : ''}`,
    current: name === current,
  })),
});

export const paymentColumnsOf = (translate: Translate): ColumnModel[] => [
  { label: translate('billing.payments.date') },
  { label: translate('billing.payments.paid'), align: 'end' },
  { label: translate('billing.payments.fee'), align: 'end', minor: true },
  { label: translate('billing.payments.credit'), align: 'end', minor: true },
  { label: translate('billing.payments.status') },
  { label: translate('billing.payments.receipt'), minor: true },
];

export function paymentCells(payment: Payment, translate: Translate): RowModel {
  const { failedRefundCents: failed } = payment;
  const status = translate(`billing.status.${payment.status}`);
  const refused =
    failed > 0n ? translate('billing.payments.refund-failed', { amount: `$${usd(failed)}` }) : null;
  const badge =
    refused === null
      ? { tone: tones[payment.status], label: status }
      : { tone: 'warn' as const, label: `${status} · ${refused}` };
  return {
    cells: [
      { kind: 'time', value: payment.createdAt, heading: true },
      { kind: 'money', value: payment.grossCents * nanoPerCent, align: 'end' },
      { kind: 'money', value: payment.feeCents * nanoPerCent, align: 'end', minor: true },
      { kind: 'money', value: payment.creditedNano, align: 'end', minor: true },
      { kind: 'badge', value: badge },
      payment.state === 'paid'
        ? {
            kind: 'link',
            value: translate('billing.payments.pdf'),
            href: `/dashboard/billing/receipts/${payment.publicId}`,
            minor: true,
          }
        : { kind: 'text', value: payment.failureCode ?? '–', minor: true },
    ],
  };
}

export const nothingPaid = (translate: Translate): EmptyModel => ({
  title: translate('billing.payments.nothing-title'),
  text: translate('billing.payments.nothing-text'),
});

export const paymentList = (party: WalletParty, translate: Translate): ListDescription<Payment> => ({
  heading: translate('billing.payments.heading'),
  scope: walletWords(party, translate),
  columns: paymentColumnsOf(translate),
  fields: [],
  row: (payment) => paymentCells(payment, translate),
  nothingYet: nothingPaid(translate),
});

export const walletWords = ({ owner }: WalletParty, translate: Translate): string =>
  translate('billing.whole-wallet', { name: owner.name || owner.email });

export const paymentColumns = [
  'id',
  'created_at',
  'paid_at',
  'kind',
  'status',
  'amount_usd',
  'fee_usd',
  'credit_usd',
  'credited_usd',
  'refunded_usd',
  'failure_code',
  'disputed_usd',
];

const usd = (cents: bigint): string => formatUsd(cents * nanoPerCent, { fixed: 2 });

export const paymentRow = (payment: Payment): readonly unknown[] => [
  payment.publicId,
  payment.createdAt,
  payment.paidAt,
  payment.kind,
  payment.status,
  usd(payment.grossCents),
  usd(payment.feeCents),
  usd(payment.netCents),
  formatUsd(payment.creditedNano),
  usd(payment.refundedCents),
  payment.failureCode,
  usd(payment.disputedCents),
];
