import { type HistoryLine, postingKinds } from '../../billing';
import { formatUsd } from '../../kernel';
import { formatTime, type Locale, type RowModel, type Translate } from '../../views';
import type { ListDescription } from '../../web';
import { walletWords } from './payments-model';
import type { WalletParty } from './wallet-party';

const knownKinds: readonly string[] = ['usage', ...postingKinds];

/** What a line of the ledger is called; a kind of another origin keeps its own name. */
export const kindWords = (kind: string, translate: Translate): string =>
  knownKinds.includes(kind) ? translate(`billing.kind.${kind}`) : kind;

interface Localisation {
  readonly translate: Translate;
  readonly locale: Locale;
}

function lineCells(
  { at, kind, amount, balance, requests }: HistoryLine,
  { translate, locale }: Localisation,
): RowModel {
  const note = requests === null ? '' : translate('billing.ledger.requests', { count: requests });
  return {
    cells: [
      // A day of usage is one of UTC. In a zone east of it, its end is on the next day.
      requests === null
        ? { kind: 'time', value: at, heading: true }
        : { kind: 'text', value: formatTime(locale, 'UTC', at, 'date'), heading: true },
      { kind: 'text', value: kindWords(kind, translate) },
      { kind: 'text', value: note, minor: true },
      { kind: 'money', value: amount, align: 'end' },
      { kind: 'money', value: balance, align: 'end' },
    ],
  };
}

export const ledgerList = (
  party: WalletParty,
  { translate, locale }: Localisation,
): ListDescription<HistoryLine> => ({
  heading: translate('billing.ledger.heading'),
  scope: `${walletWords(party, translate)} · ${translate('billing.ledger.days')}`,
  columns: [
    { label: translate('billing.payments.date') },
    { label: translate('billing.ledger.what') },
    { label: translate('billing.ledger.note'), minor: true },
    { label: translate('billing.ledger.amount'), align: 'end' },
    { label: translate('billing.ledger.balance'), align: 'end' },
  ],
  fields: [],
  row: (line) => lineCells(line, { translate, locale }),
  nothingYet: {
    title: translate('billing.ledger.nothing-title'),
    text: translate('billing.ledger.nothing-text'),
  },
});

export const ledgerColumns = ['at', 'kind', 'reference', 'requests', 'amount_usd', 'balance_usd'];

export const ledgerRow = ({ at, kind, ref, requests, amount, balance }: HistoryLine): readonly unknown[] => [
  at,
  kind,
  ref,
  requests,
  formatUsd(amount),
  formatUsd(balance),
];
