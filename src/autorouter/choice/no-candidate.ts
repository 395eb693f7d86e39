import { type ErrorCode, type Fault, fault } from '../../kernel';
import type { NoneChosen } from '../engine/decide';
import type { GatewayCall } from '../../gateway';

const RETRY_SECONDS = 5;
const TOOL_CALL_MODEL_GONE =
  'The model that made this tool call can be chosen by auto no longer, and no other may read the result.';

/**
 * Reasons that persist until the request or a setting changes; the first match, which is the last stage of the choice,
 * is reported.
 */
const persistentReasons: readonly (readonly [reason: string, code: ErrorCode, message: string])[] = [
  ['max_cost', 'invalid_request', 'Every model would cost more than max_cost_per_request of auto allows.'],
  ['region', 'sovereign_route_unavailable', 'No model for auto lies within the regions that are allowed.'],
  ['history', 'invalid_request', 'No model for auto can read what earlier turns of this conversation carry.'],
  ['price', 'invalid_request', 'No model for auto has a price for all that this request asks for.'],
  [
    'context',
    'context_length_exceeded',
    'The conversation is too long for every model that auto may choose.',
  ],
  ['capability', 'unsupported_parameter', 'No model for auto can take all that this request asks for.'],
  ['not_included', 'invalid_request', 'The settings of auto leave no model for this request.'],
  ['no_access', 'invalid_request', 'No model that auto may choose is open to the owner of this key.'],
  ['not_allowed', 'invalid_request', 'No model that this key may call can be chosen by auto.'],
];

/**
 * Refuses a request for which no candidate is left. A retry can succeed only if a model is unhealthy or the catalogue
 * has none in use.
 */
export function noCandidate({ region }: GatewayCall, { excluded, reason }: NoneChosen): Fault {
  const details = { excluded, reason };
  const isUnhealthy = (excluded.unhealthy ?? 0) > 0;
  if (reason === 'tool_call_model_gone' && !isUnhealthy)
    return fault('invalid_request', { param: 'model', message: TOOL_CALL_MODEL_GONE, details });
  const persistent = isUnhealthy ? undefined : persistentReasons.find(([name]) => (excluded[name] ?? 0) > 0);
  if (persistent === undefined)
    return fault('autorouter_no_candidate', { param: 'model', retryAfterSeconds: RETRY_SECONDS, details });
  const [name, code, message] = persistent;
  if (name === 'region' && region !== null)
    return fault('invalid_request', { param: 'region', message, details });
  return fault(code, { ...(name === 'region' ? {} : { param: 'model' }), message, details });
}
