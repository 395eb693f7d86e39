import type { ManagedKey } from '../../keys';
import { type BannerModel, formatMoney, formatPercent, formatTime } from '../../views';
import type { Localisation } from '../../web';
import { isUsedUp, resetWords } from './key-words';

/** Why a key wants looking at: its budget, or its end. */
export function attentionOf(key: ManagedKey, { locale, translate }: Localisation): BannerModel {
  const action = { label: translate('action.details'), href: `/dashboard/keys/${key.publicId}` };
  const { name, budget, expiresAt } = key;
  if (key.status === 'expired')
    return { tone: 'bad', text: translate('keys.attention.expired', { name }), action };
  if (budget !== null && budget.spent * 5n >= (budget.limit + budget.raised) * 4n) {
    const inForce = budget.limit + budget.raised;
    const share = inForce === 0n ? 1 : Number((budget.spent * 1_000n) / inForce) / 1_000;
    const used = formatPercent(locale, Math.min(1, share));
    const limit = formatMoney(locale, inForce);
    const text = translate(isUsedUp(key) ? 'keys.attention.used-up' : 'keys.attention.budget', {
      name,
      used,
      limit,
    });
    return {
      tone: isUsedUp(key) ? 'bad' : 'warn',
      text: `${text} ${resetWords(budget, locale, translate)}`,
      action,
    };
  }
  const at = expiresAt === null ? '' : `${formatTime(locale, 'UTC', expiresAt, 'minute')} UTC`;
  return { tone: 'warn', text: translate('keys.attention.expires', { name, at }), action };
}
