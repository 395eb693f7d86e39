import type { Finding } from '../../checks';
import type { BadgeModel, Translate } from '../../views';
import { type SetUp, type SetUpStep, setUpSteps } from './set-up.service';

interface ShownStep {
  readonly label: string;
  readonly href: string | null;
  readonly badge: BadgeModel;
  /** The notes are in the words of `doctor`, which are English. */
  readonly notes: readonly string[];
}

export interface SetUpCardModel {
  readonly steps: readonly ShownStep[];
  /** It is null where the sandbox has to stay, or is gone. */
  readonly sandbox: { readonly note: string } | null;
  /** Nothing is left that has to be done: the card can be put away. */
  readonly isDone: boolean;
}

/** An installation can run without these steps. */
const optional: ReadonlySet<SetUpStep> = new Set(['payments', 'customer']);

/** Settings of the environment have no page. */
const pages: Readonly<Partial<Record<SetUpStep, string>>> = {
  'sign-in': '/dashboard/settings',
  supplier: '/dashboard/admin/models?tab=providers',
  model: '/dashboard/admin/models',
  sandbox: '#remove-sandbox',
  payments: '/dashboard/billing',
  customer: '/dashboard/admin/users/invite',
};

export function setUpCard(
  { done, findings, mayRemoveSandbox, isSandboxKept }: SetUp,
  translate: Translate,
): SetUpCardModel {
  // Until something else answers, the sandbox is no task.
  const shown = setUpSteps.filter((step) => step !== 'sandbox' || mayRemoveSandbox);
  const badgeOf = (step: SetUpStep): BadgeModel => {
    if (done[step]) return { tone: 'ok', label: translate('overview.done') };
    return optional.has(step)
      ? { tone: 'neutral', label: translate('set-up.optional') }
      : { tone: 'warn', label: translate('overview.to-do') };
  };
  return {
    steps: shown.map((step) => ({
      label: translate(`set-up.step.${step}`),
      href: done[step] ? null : (pages[step] ?? null),
      badge: badgeOf(step),
      notes: done[step] ? [] : (findings[step] ?? []).flatMap(noteOf),
    })),
    sandbox: mayRemoveSandbox
      ? { note: translate(isSandboxKept ? 'set-up.sandbox-kept' : 'set-up.sandbox-note') }
      : null,
    isDone: shown.every((step) => done[step] || optional.has(step)),
  };
}

const noteOf = ({ verdict, what, found, advice }: Finding): string[] =>
  verdict === 'ok' ? [] : [[`${what}: ${found}.`, advice ?? ''].join(' ').trim()];
