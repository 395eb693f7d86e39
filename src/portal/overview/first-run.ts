import { type ManagedKey, maskKey } from '../../keys';
import type { BadgeModel, SnippetTabsModel, Translate } from '../../views';
import type { Funds } from './funds.service';

interface Step {
  readonly label: string;
  readonly isDone: boolean;
  readonly href: string | null;
  readonly badge: BadgeModel;
}

interface Facts {
  readonly funds: Funds;
  readonly key: ManagedKey | null;
  readonly snippets: SnippetTabsModel;
}

/** The card lists what is left to do until the first request. A person who is signed in has a confirmed address. */
export function firstRunOf({ funds, key, snippets }: Facts, translate: Translate) {
  const hasCredit = funds.isExempt || funds.remaining === null || funds.remaining > 0n;
  const step = (name: string, isDone: boolean, href: string | null): Step => ({
    label: translate(`overview.step.${name}`),
    isDone,
    href: isDone ? null : href,
    badge: isDone
      ? { tone: 'ok', label: translate('overview.done') }
      : { tone: 'neutral', label: translate('overview.to-do') },
  });
  return {
    steps: [
      step('account', true, null),
      step('credit', hasCredit, '/dashboard/billing'),
      step('key', key !== null, '/dashboard/keys/new'),
      step('request', false, null),
    ],
    keyName: key === null ? null : `${key.name} (${maskKey(key.publicId)})`,
    snippets,
  };
}
