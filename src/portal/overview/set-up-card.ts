import type { CheckFinding } from '../../checks';
import type { BadgeModel, Translate } from '../../views';
import { type SetUp, type SetUpStep, setUpSteps } from './set-up.service';

interface SetUpStepModel {
  readonly label: string;
  readonly href: string | null;
  readonly badge: BadgeModel;
  /** Notes come from `doctor`, which is in English. */
  readonly notes: readonly string[];
}

export interface SetUpCardModel {
  readonly steps: readonly SetUpStepModel[];
  /** Null if the sandbox is required or already removed. */
  readonly sandbox: { readonly note: string } | null;
  /** True if no required step is left, so that the card can be dismissed. */
  readonly isDone: boolean;
}

/** Steps that an installation can run without. */
const optional: ReadonlySet<SetUpStep> = new Set(['payments', 'customer']);

/** Pages of the steps; those that depend on environment variables have none. */
const pages: Readonly<Partial<Record<SetUpStep, string>>> = {
  'sign-in': '/dashboard/settings',
  supplier: '/dashboard/admin/models?tab=providers',
  model: '/dashboard/admin/models',
  sandbox: '#remove-sandbox',
  payments: '/dashboard/billing',
  customer: '/dashboard/admin/users/invite',
};

export function setUpCard(
  { done, findings, canRemoveSandbox: mayRemoveSandbox, isSandboxForced: isSandboxKept }: SetUp,
  translate: Translate,
): SetUpCardModel {
  // The sandbox must stay until another supplier serves a model.
  const steps = setUpSteps.filter((step) => step !== 'sandbox' || mayRemoveSandbox);
  const badgeOf = (step: SetUpStep): BadgeModel => {
    if (done[step]) return { tone: 'ok', label: translate('overview.done') };
    return optional.has(step)
      ? { tone: 'neutral', label: translate('set-up.optional') }
      : { tone: 'warn', label: translate('overview.to-do') };
  };
  return {
    steps: steps.map((step) => ({
      label: translate(`set-up.step.${step}`),
      href: done[step] ? null : (pages[step] ?? null),
      badge: badgeOf(step),
      notes: done[step] ? [] : (findings[step] ?? []).flatMap(noteOf),
    })),
    sandbox: mayRemoveSandbox
      ? { note: translate(isSandboxKept ? 'set-up.sandbox-kept' : 'set-up.sandbox-note') }
      : null,
    isDone: steps.every((step) => done[step] || optional.has(step)),
  };
}

const noteOf = ({ verdict, what, found, advice }: CheckFinding): string[] =>
  verdict === 'ok' ? [] : [[`${what}: ${found}.`, advice ?? ''].join(' ').trim()];
