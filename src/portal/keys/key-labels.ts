import type { LimitState } from '../../billing';
import type { ManagedKey } from '../../keys';
import {
  type BadgeModel,
  formatMoney,
  formatMoneys,
  formatTime,
  type Locale,
  meter,
  type MeterModel,
  type Translate,
} from '../../views';

export const isUsedUp = ({ budget }: Pick<ManagedKey, 'budget'>): boolean => budget?.remaining === 0n;

export function statusBadge(key: Pick<ManagedKey, 'status' | 'budget'>, translate: Translate): BadgeModel {
  if (key.status === 'active' && isUsedUp(key))
    return { tone: 'bad', label: translate('keys.status.used-up') };
  const tones = { active: 'ok', disabled: 'warn', expired: 'bad', revoked: 'neutral' } as const;
  return { tone: tones[key.status], label: translate(`keys.status.${key.status}`) };
}

/** Describes when a budget resets, in UTC; a rolling budget frees up hour by hour. */
export function resetText(
  { resetsAt, freesNext, period }: Pick<LimitState, 'resetsAt' | 'freesNext' | 'period'>,
  { locale, translate }: KeyLocalisation,
  showsAmounts = true,
): string {
  if (period === 'total') return translate('keys.no-end');
  if (resetsAt === null) return translate('keys.no-reset');
  const completeAt = inUtc(resetsAt, locale);
  if (freesNext === null) return translate('keys.resets', { at: completeAt });
  const freesEverything = freesNext.at.getTime() === resetsAt.getTime();
  const amounts = {
    amount: formatMoney(locale, freesNext.amount),
    at: inUtc(freesNext.at, locale),
    all: completeAt,
  };
  if (freesEverything) return translate('keys.frees-all', amounts);
  return translate(showsAmounts ? 'keys.frees' : 'keys.frees-part', amounts);
}

interface KeyLocalisation {
  readonly locale: Locale;
  readonly translate: Translate;
}

const inUtc = (at: Date, locale: Locale): string => `${formatTime(locale, 'UTC', at, 'minute')} UTC`;

export function budgetMeter(label: string, state: LimitState, localisation: KeyLocalisation): MeterModel {
  const { locale, translate } = localisation;
  const totalLimit = state.limit + state.raised;
  const [used, limit] = formatMoneys(locale, [
    roundUpToCents(state.spent) < totalLimit ? roundUpToCents(state.spent) : state.spent,
    totalLimit,
  ]);
  return meter({
    label,
    used: state.spent,
    limit: totalLimit,
    text: translate('keys.used-of', {
      used,
      limit,
      period: translate(`keys.period.${state.period}`),
    }),
    note: [resetText(state, localisation), ...raiseTexts(state, locale, translate)].join(' '),
  });
}

function raiseTexts({ raised, raisedUntil }: LimitState, locale: Locale, translate: Translate): string[] {
  if (raised === 0n || raisedUntil === null) return [];
  return [translate('keys.raised', { amount: formatMoney(locale, raised), at: inUtc(raisedUntil, locale) })];
}

const NANO_PER_CENT = 10_000_000n;

/** Rounds up to cents, so that the remaining amount is never overstated. */
const roundUpToCents = (amount: bigint): bigint =>
  ((amount + NANO_PER_CENT - 1n) / NANO_PER_CENT) * NANO_PER_CENT;
