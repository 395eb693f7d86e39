import type { ModelView } from '../../catalogue';
import type { UsageLimits } from '../../kernel';
import type { RoutePlan } from '../../routing';
import type { Call, Work } from '../intake';
import type { HeldCall } from './hold';

/** A call with its model, hold and lanes: the same for every lane. */
export interface RoutedCall {
  readonly call: Call;
  readonly model: ModelView;
  readonly held: HeldCall;
  readonly plan: RoutePlan;
  readonly work: Work;
}

/**
 * The name of the model that an answer carries; null leaves what the supplier says. A key decides, then its model.
 */
export const answeredName = ({ call, model }: RoutedCall): string | null =>
  (call.inbound.caller.answerModel ?? model.answerModel) === 'supplier' ? null : model.name;

/** Whether another lane may go on where a stream broke off: neither its model nor its key forbids it. */
export const mayContinue = ({ call, model }: RoutedCall): boolean =>
  model.continueStreams === 'on' && call.inbound.caller.continueStreams !== 'off';

/** The bounds of a plausible usage report. */
export const usageLimitsOf = ({ model, held }: RoutedCall): UsageLimits => ({
  contextTokens: model.contextTokens,
  heldTokens: held.tokens,
});
