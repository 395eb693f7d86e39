import {
  type BillingAccount,
  type Card,
  type InvoicePayment,
  type InvoiceState,
  MIN_TOP_UP_CENTS,
  MAX_TOP_UP_CENTS,
  type Payment,
  readTopUpCents,
  topUpOf,
  type WalletState,
} from '../../billing';
import { formatUsd, nanoPerCent } from '../../kernel';
import {
  type BannerModel,
  column,
  type FieldModel,
  formatMoney,
  type Locale,
  type MoneyFieldModel,
  tableOf,
  type TileModel,
  type Translate,
} from '../../views';
import { billingTabs, nothingPaid, paymentColumns, walletLabel } from './payments-model';
import type { WalletParty } from './wallet-party.service';

export interface InvoiceOverview {
  readonly state: InvoiceState;
  readonly payments: readonly InvoicePayment[];
}

export interface BillingOverviewInput {
  readonly party: WalletParty;
  readonly wallet: WalletState;
  /** Null for a payer who is not billed by invoice and owes nothing. */
  readonly invoices: InvoiceOverview | null;
  readonly account: BillingAccount;
  readonly cards: readonly Card[];
  readonly recent: readonly Payment[];
  readonly query: { readonly amount?: string; readonly cancelled?: string; readonly card?: string };
  readonly isConnected: boolean;
  readonly isTestMode: boolean;
  readonly isSandbox: boolean;
  /** Set for administrators, who can configure the payment processor. */
  readonly showsPlumbing: boolean;
}

interface BillingLocalisation {
  readonly translate: Translate;
  readonly locale: Locale;
}

const DEFAULT_AMOUNT = '50.00';

export function overviewModel(input: BillingOverviewInput, localisation: BillingLocalisation) {
  const { party, account, cards, recent, query, isConnected, showsPlumbing } = input;
  const { translate } = localisation;
  const amount = query.amount === undefined || query.amount === '' ? DEFAULT_AMOUNT : query.amount;
  const cents = readTopUpCents(amount);
  return {
    walletScope: walletLabel(party, translate),
    tabs: billingTabs('overview', translate, party),
    isBeside: party.isBeside,
    paymentsHref: `/dashboard/billing/payments${party.isBeside ? '?own=1' : ''}`,
    ownQuery: party.isBeside ? '?own=1' : '',
    banners: bannersOf(input, localisation),
    tiles: tilesOf(input, localisation),
    invoices: input.invoices === null ? null : invoicesOf(input.invoices, localisation),
    isConnected,
    showsPlumbing,
    topUp: {
      amount,
      worked: cents === null ? null : topUpOf(cents),
      least: MIN_TOP_UP_CENTS * nanoPerCent,
      most: MAX_TOP_UP_CENTS * nanoPerCent,
    },
    cards: cards.map((card) => ({
      processorId: card.processorId,
      isDefault: card.isDefault,
      label: cardLabel(card),
      expires: card.expYear === 0 ? null : `${String(card.expMonth).padStart(2, '0')}/${card.expYear}`,
    })),
    automatic: automaticFields(account, cards.length > 0, translate),
    lowBalance: lowBalanceField(account, translate),
    invoice: invoiceFields(account, translate),
    recent: tableOf(
      recent,
      {
        caption: translate('billing.payments.recent'),
        columns: paymentColumns(translate),
        empty: nothingPaid(translate),
      },
      translate,
    ),
  };
}

function invoicesOf({ state, payments }: InvoiceOverview, { translate, locale }: BillingLocalisation) {
  const { owed, credit, escrowed } = state;
  const available = credit - owed - escrowed;
  const tile = (key: string, value: bigint, note: string): TileModel => ({
    label: translate(key),
    figure: { kind: 'money', value },
    note,
  });
  const limit = formatMoney(locale, credit);
  return {
    tiles: [
      tile('people.invoice.owed', owed, translate('billing.invoices.owed-note')),
      tile(
        'billing.tile.available',
        available > 0n ? available : 0n,
        translate('billing.invoices.credit', { amount: limit }),
      ),
    ],
    payments: tableOf(
      payments,
      {
        caption: translate('people.invoice.payments'),
        columns: [
          column('billing.payments.date', 'time', ({ recordedAt }) => recordedAt),
          column('people.invoice.reference', 'text', ({ reference }) => reference),
          column('billing.payments.status', 'text', ({ undoneAt }) =>
            translate(undoneAt === null ? 'people.invoice.stands' : 'people.invoice.undone'),
          ),
          column('billing.ledger.amount', 'money', ({ amount }) => amount),
        ],
        empty: {
          title: translate('billing.invoices.none-title'),
          text: translate('billing.invoices.none-text'),
        },
      },
      translate,
    ),
  };
}

function tilesOf(
  { wallet, party }: BillingOverviewInput,
  { translate, locale }: BillingLocalisation,
): TileModel[] {
  const { balance, creditLimit, escrowed } = wallet;
  const available = balance + creditLimit - escrowed;
  const limit = formatMoney(locale, creditLimit);
  const note =
    creditLimit > 0n
      ? translate('billing.tile.credit-limit', { amount: limit })
      : translate(party.isExempt ? 'billing.tile.exempt' : 'billing.tile.available-note');
  return [
    {
      label: translate('billing.tile.balance'),
      figure: { kind: 'money', value: balance },
      note: translate(balance < 0n ? 'billing.tile.debt' : 'billing.tile.balance-note'),
    },
    {
      label: translate('billing.tile.available'),
      figure: { kind: 'money', value: available > 0n ? available : 0n },
      note,
    },
    {
      label: translate('billing.tile.held'),
      figure: { kind: 'money', value: escrowed },
      note: translate('billing.tile.held-note'),
    },
  ];
}

function bannersOf(
  { account, query, isConnected, isTestMode, isSandbox, party, wallet }: BillingOverviewInput,
  { translate, locale }: BillingLocalisation,
): BannerModel[] {
  const { failureCode, pausedUntil } = account;
  const isOwing = wallet.balance < 0n;
  const owed = formatMoney(locale, -wallet.balance);
  const canSpend = party.isExempt || wallet.balance + wallet.creditLimit > 0n;
  const isAtCeiling = failureCode === 'ceiling' && pausedUntil !== null && pausedUntil > new Date();
  const candidates: [boolean, BannerModel['tone'], string, Record<string, string>?][] = [
    [!isConnected, 'info', 'connect'],
    [isConnected && isSandbox, 'warn', 'sandbox'],
    [isConnected && isTestMode && !isSandbox, 'warn', 'test'],
    [isOwing && !canSpend, 'bad', 'debt', { amount: owed }],
    [isOwing && canSpend, 'warn', 'owed', { amount: owed }],
    [failureCode !== null && failureCode !== 'ceiling', 'bad', 'automatic', { code: failureCode ?? '' }],
    [isAtCeiling, 'warn', 'ceiling'],
    [query.cancelled !== undefined, 'info', 'cancelled'],
    [query.card !== undefined, 'ok', 'card'],
  ];
  return candidates
    .filter(([isActive]) => isActive)
    .map(([, tone, name, values]) => ({
      tone,
      title: translate(`billing.banner.${name}-title`),
      text: translate(`billing.banner.${name}`, values),
    }));
}

const dollars = (cents: bigint): string => formatUsd(cents * nanoPerCent, { fixed: 2 });

interface AutomaticFields {
  readonly hasCard: boolean;
  readonly enabled: FieldModel;
  readonly amounts: readonly MoneyFieldModel[];
}

function automaticFields(
  { automatic }: BillingAccount,
  hasCard: boolean,
  translate: Translate,
): AutomaticFields {
  const { enabled, threshold, amountCents, monthlyCeilingCents } = automatic;
  const amount = (name: string, field: string, value: string): MoneyFieldModel => ({
    id: `automatic-${name}`,
    name: field,
    label: translate(`billing.automatic.${name}`),
    value,
  });
  return {
    hasCard,
    enabled: {
      id: 'automatic-enabled',
      name: 'enabled',
      type: 'checkbox',
      label: translate('billing.automatic.enabled'),
      checked: enabled,
    },
    amounts: [
      amount('threshold', 'threshold', enabled ? formatUsd(threshold, { fixed: 2 }) : '20.00'),
      amount('amount', 'amount', enabled ? dollars(amountCents) : '50.00'),
      amount('monthly-ceiling', 'monthly_ceiling', enabled ? dollars(monthlyCeilingCents) : '200.00'),
    ],
  };
}

const lowBalanceField = ({ lowBalance }: BillingAccount, translate: Translate): MoneyFieldModel => ({
  id: 'low-balance',
  name: 'low_balance',
  label: translate('billing.notices.low-balance'),
  help: translate('billing.notices.help'),
  required: true,
  value: formatUsd(lowBalance, { fixed: 2 }),
});

function invoiceFields({ invoice }: BillingAccount, translate: Translate): FieldModel[] {
  const field = (name: string, value: string | null, autocomplete: string): FieldModel => ({
    id: `invoice-${name}`,
    name,
    label: translate(`billing.invoice.${name}`),
    value: value ?? '',
    optional: true,
    autocomplete,
  });
  return [
    field('name', invoice.name, 'organization'),
    { ...field('address', invoice.address, 'street-address'), type: 'textarea', rows: 3 },
    field('tax_id', invoice.taxId, 'off'),
  ];
}

/** Labels a card; a wallet such as Link has no number, and a card can be part of a phone's wallet. */
function cardLabel({ brand, last4, wallet }: Card): string {
  const number = last4 === '' ? '' : ` •••• ${last4}`;
  return `${brandName(brand)}${number}${wallet === null ? '' : ` · ${brandName(wallet)}`}`;
}

/** Official spellings; other brands use the processor's name. */
const brandNames: Readonly<Record<string, string>> = {
  amazon_pay: 'Amazon Pay',
  amex: 'American Express',
  apple_pay: 'Apple Pay',
  bacs_debit: 'Bacs Direct Debit',
  cartes_bancaires: 'Cartes Bancaires',
  cashapp: 'Cash App Pay',
  diners: 'Diners Club',
  discover: 'Discover',
  eftpos_au: 'eftpos',
  google_pay: 'Google Pay',
  jcb: 'JCB',
  link: 'Link',
  mastercard: 'Mastercard',
  paypal: 'PayPal',
  revolut_pay: 'Revolut Pay',
  samsung_pay: 'Samsung Pay',
  sepa_debit: 'SEPA Direct Debit',
  unionpay: 'UnionPay',
  us_bank_account: 'ACH Direct Debit',
  visa: 'Visa',
};
const brandName = (brand: string): string => brandNames[brand] ?? brand;
