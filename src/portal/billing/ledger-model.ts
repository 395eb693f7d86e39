import { type HistoryLine, postingKinds } from '../../billing';
import { formatUsd } from '../../kernel';
import { column, formatTime, type Locale, mixedColumn, type Translate } from '../../views';
import { type CsvColumns, type ListDescription } from '../../web';
import { walletLabel } from './payments-model';
import type { WalletParty } from './wallet-party.service';

const knownKinds: readonly string[] = ['usage', ...postingKinds];

/** Returns the label of a ledger line; an unknown kind keeps its raw name. */
export const kindLabel = (kind: string, translate: Translate): string =>
  knownKinds.includes(kind) ? translate(`billing.kind.${kind}`) : kind;

interface LedgerLocalisation {
  readonly translate: Translate;
  readonly locale: Locale;
}

export const ledgerList = (
  party: WalletParty,
  { translate, locale }: LedgerLocalisation,
): ListDescription<HistoryLine> => ({
  heading: translate('billing.ledger.heading'),
  scope: `${walletLabel(party, translate)} · ${translate('billing.ledger.days')}`,
  columns: [
    // Usage is totalled per UTC day; in a zone further east, its timestamp would fall on the next day.
    mixedColumn('billing.payments.date', ({ at, requests }) =>
      requests === null
        ? { kind: 'time', value: at }
        : { kind: 'text', value: formatTime(locale, 'UTC', at, 'date') },
    ),
    column('billing.ledger.what', 'text', ({ kind }) => kindLabel(kind, translate)),
    column(
      'billing.ledger.note',
      'text',
      ({ requests: count }) => (count === null ? '' : translate('billing.ledger.requests', { count })),
      'minor',
    ),
    column('billing.ledger.amount', 'money', ({ amount }) => amount),
    column('billing.ledger.balance', 'money', ({ balance }) => balance),
  ],
  fields: [],
  nothingYet: {
    title: translate('billing.ledger.nothing-title'),
    text: translate('billing.ledger.nothing-text'),
  },
});

export const ledgerFile: CsvColumns<HistoryLine> = {
  at: ({ at }) => at,
  kind: ({ kind }) => kind,
  reference: ({ ref }) => ref,
  requests: ({ requests }) => requests,
  amount_usd: ({ amount }) => formatUsd(amount),
  balance_usd: ({ balance }) => formatUsd(balance),
};
