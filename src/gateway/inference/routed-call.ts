import type { ModelView } from '../../catalogue';
import type { UsageLimits } from '../../kernel';
import type { RoutePlan } from '../../routing';
import type { Work } from '../work';
import type { Call } from './describe';
import type { HeldCall } from './hold';

/** A call with its model, its money and its lanes: what it is sent with, whichever lane it takes. */
export interface RoutedCall {
  readonly call: Call;
  readonly model: ModelView;
  readonly held: HeldCall;
  readonly plan: RoutePlan;
  readonly work: Work;
}

/** What a report of usage has to keep to, to be believed. */
export const usageLimitsOf = ({ model, held }: RoutedCall): UsageLimits => ({
  contextTokens: model.contextTokens,
  heldTokens: held.tokens,
});
