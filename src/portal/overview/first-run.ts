import { type ManagedKey, maskKey } from '../../keys';
import type { BadgeModel, SnippetTabsModel, Translate } from '../../views';
import type { Funds } from './funds.service';

interface FirstRunStep {
  readonly label: string;
  readonly isDone: boolean;
  readonly href: string | null;
  readonly badge: BadgeModel;
}

interface FirstRunInput {
  readonly funds: Funds;
  readonly key: ManagedKey | null;
  readonly snippets: SnippetTabsModel;
}

/**
 * Lists the steps before the first request. The account step is always done, because a signed-in user has a verified
 * address.
 */
export function firstRunCard({ funds, key, snippets }: FirstRunInput, translate: Translate) {
  const hasCredit = funds.isExempt || funds.remaining === null || funds.remaining > 0n;
  const step = (name: string, isDone: boolean, href: string | null): FirstRunStep => ({
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
