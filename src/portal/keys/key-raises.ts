import type { BudgetRaise } from '../../billing';
import { instantField, type Nano, parseUsd, invalidField } from '../../kernel';
import type { ManagedKey } from '../../keys';
import { column, formatMoney, formatTime, type TableModel, tableOf } from '../../views';
import type { Localisation } from '../../web';

type PostedRaise = Readonly<Record<string, unknown>>;

/** Reads the amount of a raise and its end; a day means its first instant in UTC. */
export function parseRaise({ raise_amount: amount, raise_until: until }: PostedRaise): {
  readonly amount: Nano;
  readonly endsAt: Date;
} {
  return { amount: parseAmount(amount), endsAt: instantField(until, 'raise_until') };
}

function parseAmount(value: unknown): Nano {
  if (typeof value === 'string' || typeof value === 'number') {
    try {
      const amount = parseUsd(typeof value === 'string' ? value.replace(',', '.') : value);
      if (amount > 0n) return amount;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
  }
  throw invalidField('raise_amount', 'an amount in US dollars above zero, like 25 or 0.5');
}

export interface RaisesModel {
  readonly mayRaise: boolean;
  readonly table: TableModel | null;
  readonly open: readonly { readonly id: number; readonly text: string }[];
}

export function raisesModel(
  key: ManagedKey,
  raises: readonly BudgetRaise[],
  { translate, locale }: Localisation,
): RaisesModel {
  const raiseText = ({ amount, endsAt }: BudgetRaise): string =>
    translate('keys.raised', {
      amount: formatMoney(locale, amount),
      at: `${formatTime(locale, 'UTC', endsAt, 'minute')} UTC`,
    });
  return {
    mayRaise: key.budget !== null,
    table:
      raises.length === 0
        ? null
        : tableOf(
            raises,
            {
              caption: translate('keys.raise.heading'),
              columns: [
                column('keys.raise.amount', 'money', ({ amount }) => amount),
                column('keys.raise.until', 'time', ({ endsAt }) => endsAt),
                column(
                  'keys.raise.by',
                  'text',
                  ({ createdBy }) => createdBy ?? translate('keys.an-administrator'),
                  'minor',
                ),
                column('keys.raise.state', 'badge', ({ endedAt }) => ({
                  tone: endedAt === null ? 'ok' : 'neutral',
                  label: translate(endedAt === null ? 'keys.raise.in-force' : 'keys.raise.ended'),
                })),
                column('keys.reason', 'text', ({ reason }) => reason, 'minor'),
              ],
              empty: { title: translate('keys.raise.heading'), text: translate('keys.raise.text') },
            },
            translate,
          ),
    open: raises
      .filter(({ endedAt }) => endedAt === null)
      .map((raise) => ({ id: raise.id, text: raiseText(raise) })),
  };
}
