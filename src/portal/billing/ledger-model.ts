import { type HistoryLine, postingKinds } from '../../billing';
import { formatUsd } from '../../kernel';
import { column, formatTime, type Locale, mixed, type Translate } from '../../views';
import { type FileColumns, type ListDescription } from '../../web';
import { walletWords } from './payments-model';
import type { WalletParty } from './wallet-party';

const knownKinds: readonly string[] = ['usage', ...postingKinds];

/** A line of the ledger is called so; a kind of another origin keeps its own name. */
export const kindWords = (kind: string, translate: Translate): string =>
  knownKinds.includes(kind) ? translate(`billing.kind.${kind}`) : kind;

interface Localisation {
  readonly translate: Translate;
  readonly locale: Locale;
}

export const ledgerList = (
  party: WalletParty,
  { translate, locale }: Localisation,
): ListDescription<HistoryLine> => ({
  heading: translate('billing.ledger.heading'),
  scope: `${walletWords(party, translate)} · ${translate('billing.ledger.days')}`,
  columns: [
    // A day of usage is one of UTC. In a zone east of it, its end is on the next day.
    mixed('billing.payments.date', ({ at, requests }) =>
      requests === null
        ? { kind: 'time', value: at }
        : { kind: 'text', value: formatTime(locale, 'UTC', at, 'date') },
    ),
    column('billing.ledger.what', 'text', ({ kind }) => kindWords(kind, translate)),
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

export const ledgerFile: FileColumns<HistoryLine> = {
  at: ({ at }) => at,
  kind: ({ kind }) => kind,
  reference: ({ ref }) => ref,
  requests: ({ requests }) => requests,
  amount_usd: ({ amount }) => formatUsd(amount),
  balance_usd: ({ balance }) => formatUsd(balance),
};
