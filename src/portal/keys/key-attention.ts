import { shareOf } from '../../billing';
import type { ManagedKey } from '../../keys';
import { type BannerModel, formatMoney, formatPercent, formatTime } from '../../views';
import type { Localisation } from '../../web';
import { isUsedUp, resetText } from './key-labels';

const ATTENTION_SHARE = 0.8;

export function attentionBanner(key: ManagedKey, localisation: Localisation): BannerModel {
  const { name, budget } = key;
  if (key.status === 'expired' || budget === null || shareOf(budget) < ATTENTION_SHARE)
    return expiryBanner(key, localisation);
  const { locale, translate } = localisation;
  const text = translate(isUsedUp(key) ? 'keys.attention.used-up' : 'keys.attention.budget', {
    name,
    used: formatPercent(locale, Math.min(1, shareOf(budget))),
    limit: formatMoney(locale, budget.limit + budget.raised),
  });
  return {
    tone: isUsedUp(key) ? 'bad' : 'warn',
    text: `${text} ${resetText(budget, localisation)}`,
    action: detailsAction(key, localisation),
  };
}

export function expiryBanner(key: ManagedKey, localisation: Localisation): BannerModel {
  const { locale, translate } = localisation;
  const { name, expiresAt } = key;
  const action = detailsAction(key, localisation);
  if (key.status === 'expired')
    return { tone: 'bad', text: translate('keys.attention.expired', { name }), action };
  const at = expiresAt === null ? '' : `${formatTime(locale, 'UTC', expiresAt, 'minute')} UTC`;
  return { tone: 'warn', text: translate('keys.attention.expires', { name, at }), action };
}

const detailsAction = ({ id }: ManagedKey, { translate }: Localisation) => ({
  label: translate('action.details'),
  href: `/dashboard/keys/${id}`,
});
