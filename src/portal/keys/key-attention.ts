import { shareOf } from '../../billing';
import type { ManagedKey } from '../../keys';
import { type BannerModel, formatMoney, formatPercent, formatTime } from '../../views';
import type { Localisation } from '../../web';
import { isUsedUp, resetWords } from './key-words';

const NEARLY_USED = 0.8;

/** It says why a key wants looking at: its budget, or its end. */
export function attentionOf(key: ManagedKey, localisation: Localisation): BannerModel {
  const { name, budget } = key;
  if (key.status === 'expired' || budget === null || shareOf(budget) < NEARLY_USED)
    return endingOf(key, localisation);
  const { locale, translate } = localisation;
  const text = translate(isUsedUp(key) ? 'keys.attention.used-up' : 'keys.attention.budget', {
    name,
    used: formatPercent(locale, Math.min(1, shareOf(budget))),
    limit: formatMoney(locale, budget.limit + budget.raised),
  });
  return {
    tone: isUsedUp(key) ? 'bad' : 'warn',
    text: `${text} ${resetWords(budget, localisation)}`,
    action: actionOf(key, localisation),
  };
}

/** It says when a key ends or ended. */
export function endingOf(key: ManagedKey, localisation: Localisation): BannerModel {
  const { locale, translate } = localisation;
  const { name, expiresAt } = key;
  const action = actionOf(key, localisation);
  if (key.status === 'expired')
    return { tone: 'bad', text: translate('keys.attention.expired', { name }), action };
  const at = expiresAt === null ? '' : `${formatTime(locale, 'UTC', expiresAt, 'minute')} UTC`;
  return { tone: 'warn', text: translate('keys.attention.expires', { name, at }), action };
}

const actionOf = ({ id }: ManagedKey, { translate }: Localisation) => ({
  label: translate('action.details'),
  href: `/dashboard/keys/${id}`,
});
