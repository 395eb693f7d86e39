import type { Payment, PaymentStatus } from '../../billing';
import { formatUsd, nanoPerCent } from '../../kernel';
import {
  type BadgeModel,
  type BannerModel,
  type TableColumn,
  column,
  type EmptyModel,
  type Figure,
  mixedColumn,
  type TabsModel,
  type Tone,
  type Translate,
} from '../../views';
import { type CsvColumns, type ListDescription } from '../../web';
import type { WalletParty } from './wallet-party.service';

const tones: Readonly<Record<PaymentStatus, Tone>> = {
  open: 'info',
  failed: 'bad',
  expired: 'neutral',
  paid: 'ok',
  partially_refunded: 'warn',
  refunded: 'neutral',
  disputed: 'bad',
};

/** Explains that no real money is charged; null in live mode. */
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

export const paymentColumns = (translate: Translate): TableColumn<Payment>[] => [
  column('billing.payments.date', 'time', ({ createdAt }) => createdAt),
  column('billing.payments.paid', 'money', ({ grossCents }) => grossCents * nanoPerCent),
  column('billing.payments.fee', 'money', ({ feeCents }) => feeCents * nanoPerCent, 'minor'),
  column('billing.payments.credit', 'money', ({ creditedNano }) => creditedNano, 'minor'),
  column('billing.payments.status', 'badge', (payment) => statusOf(payment, translate)),
  mixedColumn('billing.payments.receipt', (payment) => receiptOf(payment, translate), 'minor'),
];

function statusOf({ status, failedRefundCents: failedCents }: Payment, translate: Translate): BadgeModel {
  const label = translate(`billing.status.${status}`);
  if (failedCents === 0n) return { tone: tones[status], label };
  const failedRefund = translate('billing.payments.refund-failed', { amount: `$${usd(failedCents)}` });
  return { tone: 'warn', label: `${label} · ${failedRefund}` };
}

const receiptOf = ({ state, publicId, failureCode }: Payment, translate: Translate): Figure =>
  state === 'paid'
    ? {
        kind: 'link',
        value: translate('billing.payments.pdf'),
        href: `/dashboard/billing/receipts/${publicId}`,
      }
    : { kind: 'text', value: failureCode ?? '–' };

export const nothingPaid = (translate: Translate): EmptyModel => ({
  title: translate('billing.payments.nothing-title'),
  text: translate('billing.payments.nothing-text'),
});

export const paymentList = (party: WalletParty, translate: Translate): ListDescription<Payment> => ({
  heading: translate('billing.payments.heading'),
  scope: walletLabel(party, translate),
  columns: paymentColumns(translate),
  fields: [],
  nothingYet: nothingPaid(translate),
});

export const walletLabel = ({ owner }: WalletParty, translate: Translate): string =>
  translate('billing.whole-wallet', { name: owner.name || owner.email });

const usd = (cents: bigint): string => formatUsd(cents * nanoPerCent, { fixed: 2 });

export const paymentFile: CsvColumns<Payment> = {
  id: ({ publicId }) => publicId,
  created_at: ({ createdAt }) => createdAt,
  paid_at: ({ paidAt }) => paidAt,
  kind: ({ kind }) => kind,
  status: ({ status }) => status,
  amount_usd: ({ grossCents }) => usd(grossCents),
  fee_usd: ({ feeCents }) => usd(feeCents),
  credit_usd: ({ netCents }) => usd(netCents),
  credited_usd: ({ creditedNano }) => formatUsd(creditedNano),
  refunded_usd: ({ refundedCents }) => usd(refundedCents),
  failure_code: ({ failureCode }) => failureCode,
  disputed_usd: ({ disputedCents }) => usd(disputedCents),
};
