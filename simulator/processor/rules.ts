import { describedObjects } from './facts';
import { ApiError, invalid, objectOf, type Parameters } from './parameters';

/** Settings of an account at the processor. */
export interface AccountSettings {
  /** Enables payment methods that redirect the customer, such as bank redirects. */
  readonly hasRedirects: boolean;
}

interface ProcessorRule {
  /** Page of Stripe's documentation; read on 26 November 2026. */
  readonly source: string;
  /** Returns an error, or null if the call follows the rule. */
  readonly check: (parameters: Parameters, account: AccountSettings) => ApiError | null;
}

const rule = (source: string, check: ProcessorRule['check']): ProcessorRule => ({
  source: `https://docs.stripe.com/${source}`,
  check,
});

const MIN_CENTS = 50;
const MAX_CENTS = 99_999_999;

function checkAmount(name: string, value: string | undefined): ApiError | null {
  if (value === undefined) return null;
  if (Number(value) < MIN_CENTS)
    return invalid(`${name}: too small to be charged.`, name, 'amount_too_small');
  return Number(value) > MAX_CENTS
    ? invalid(`${name}: more than eight digits.`, name, 'amount_too_large')
    : null;
}

function checkMetadata(parameters: Parameters): ApiError | null {
  const entries = [...parameters].filter(([name]) => /(^|\[)metadata\]?\[/.test(name));
  const exceedsLimit = entries.some(
    ([name, value]) => (/\[([^[\]]+)\]$/.exec(name)?.[1]?.length ?? 0) > 40 || value.length > 500,
  );
  return exceedsLimit || entries.length > 100
    ? invalid('Metadata: 50 keys of 40 characters, values of 500.', 'metadata')
    : null;
}

const isTrue = (parameters: Parameters, name: string): boolean =>
  parameters.has(name) && parameters.get(name) !== 'false';

/** If a call names no payment method types, those enabled in the dashboard apply, redirects included. */
function checkRedirects(parameters: Parameters, { hasRedirects }: AccountSettings): ApiError | null {
  const hasReturnUrl =
    parameters.get('automatic_payment_methods[allow_redirects]') === 'never' ||
    parameters.has('return_url') ||
    [...parameters.keys()].some((name) => name.startsWith('allowed_payment_method_types['));
  if (!hasRedirects || !isTrue(parameters, 'confirm') || hasReturnUrl) return null;
  return invalid(
    'Ways of paying may lead away: give return_url, or set allow_redirects to never.',
    'return_url',
  );
}

const onlyWithConfirm =
  (name: string): ProcessorRule['check'] =>
  (parameters) =>
    isTrue(parameters, name) && !isTrue(parameters, 'confirm')
      ? invalid(`${name} goes with confirm alone.`, name, 'payment_intent_invalid_parameter')
      : null;

const isUrl = (text: string): boolean => /^https?:\/\/[^\s/]+/.test(text);

const requireUrls =
  (...names: string[]): ProcessorRule['check'] =>
  (parameters) => {
    const invalidName = names.find((name) => parameters.has(name) && !isUrl(parameters.get(name) ?? ''));
    return invalidName === undefined
      ? null
      : invalid(`${invalidName} is no address.`, invalidName, 'url_invalid');
  };

const missingError = (name: string): ApiError => invalid(`${name} is missing.`, name, 'parameter_missing');

const has = (parameters: Parameters, name: string): boolean =>
  [...parameters.keys()].some((key) => key === name || key.startsWith(`${name}[`));

function checkSessionMode(parameters: Parameters): ApiError | null {
  const mode = parameters.get('mode');
  if (mode === undefined) return missingError('mode');
  if (!parameters.has('success_url')) return missingError('success_url');
  if (mode === 'setup') {
    if (has(parameters, 'line_items')) return invalid('Nothing is sold in setup mode.', 'line_items');
    if (has(parameters, 'payment_intent_data'))
      return invalid('Nothing is paid in setup mode.', 'payment_intent_data');
    return parameters.has('currency') ? null : missingError('currency');
  }
  return has(parameters, 'line_items') ? null : missingError('line_items');
}

/** Only fields that are references can be expanded. */
const expandable =
  (object: string, prefix = ''): ProcessorRule['check'] =>
  (parameters) => {
    const invalidPath = Object.values(objectOf(parameters, 'expand')).find((path) => {
      const field = path.startsWith(prefix)
        ? describedObjects.get(object)?.get(path.slice(prefix.length))
        : undefined;
      return field?.kind !== 'reference';
    });
    return invalidPath === undefined ? null : invalid(`${invalidPath} cannot be expanded.`, 'expand');
  };

const paginationRule: ProcessorRule = rule('api/pagination', (parameters) => {
  const limit = Number(parameters.get('limit') ?? 10);
  return limit >= 1 && limit <= 100 ? null : invalid('limit: 1 to 100.', 'limit');
});
const metadataRule = rule('api/metadata', checkMetadata);

const rules: Readonly<Record<string, readonly ProcessorRule[]>> = {
  'POST /v1/customers': [metadataRule],
  'POST /v1/checkout/sessions': [
    rule('api/checkout/sessions/create', checkSessionMode),
    rule('api/checkout/sessions/create#success_url', requireUrls('success_url', 'cancel_url')),
    rule('api/checkout/sessions/create#client_reference_id', (parameters) =>
      (parameters.get('client_reference_id') ?? '').length > 200
        ? invalid('client_reference_id: at most 200 characters.', 'client_reference_id')
        : null,
    ),
    rule('currencies#minimum-and-maximum-charge-amounts', (parameters) =>
      checkAmount('line_items', parameters.get('line_items[0][price_data][unit_amount]')),
    ),
    metadataRule,
  ],
  'GET /v1/checkout/sessions/:id': [rule('api/expanding_objects', expandable('checkout.session'))],
  'POST /v1/payment_intents': [
    rule('currencies#minimum-and-maximum-charge-amounts', (parameters) =>
      checkAmount('amount', parameters.get('amount')),
    ),
    rule('upgrades/manage-payment-methods', checkRedirects),
    rule('api/payment_intents/create#return_url', onlyWithConfirm('return_url')),
    rule('api/payment_intents/create#off_session', onlyWithConfirm('off_session')),
    rule('api/payment_intents/create#automatic_payment_methods', (parameters) =>
      has(parameters, 'automatic_payment_methods') && has(parameters, 'allowed_payment_method_types')
        ? invalid(
            'Only one of two ways to name ways of paying.',
            'automatic_payment_methods',
            'parameters_exclusive',
          )
        : null,
    ),
    rule('api/payment_intents/confirm', (parameters) =>
      isTrue(parameters, 'confirm') && !parameters.has('payment_method')
        ? invalid('There is nothing to pay with.', 'payment_method', 'payment_intent_unexpected_state')
        : null,
    ),
    rule('api/payment_intents/create#return_url', requireUrls('return_url')),
    metadataRule,
  ],
  'GET /v1/payment_intents/:id': [rule('api/expanding_objects', expandable('payment_intent'))],
  'GET /v1/payment_intents': [
    paginationRule,
    rule('api/expanding_objects', expandable('payment_intent', 'data.')),
  ],
  'POST /v1/refunds': [
    rule('api/refunds/create', (parameters) =>
      parameters.has('payment_intent') ? null : missingError('payment_intent'),
    ),
    rule('api/refunds/create#amount', (parameters) =>
      Number(parameters.get('amount') ?? 1) >= 1
        ? null
        : invalid('amount: at least 1.', 'amount', 'parameter_invalid_integer'),
    ),
  ],
  'GET /v1/payment_methods': [paginationRule],
  'GET /v1/refunds': [paginationRule],
  'GET /v1/disputes': [paginationRule],
  'GET /v1/events': [
    paginationRule,
    rule('api/events/list#types', (parameters) =>
      Object.keys(objectOf(parameters, 'types')).length > 20 ? invalid('types: at most 20.', 'types') : null,
    ),
  ],
  'GET /v1/webhook_endpoints': [paginationRule],
  'POST /v1/webhook_endpoints': [rule('api/webhook_endpoints/create#url', requireUrls('url'))],
};

/** Rejects calls that the API description allows but Stripe's documentation forbids. */
export function requireRules(call: string, parameters: Parameters, account: AccountSettings): void {
  for (const { check, source } of rules[call] ?? []) {
    const refusal = check(parameters, account);
    if (refusal !== null) throw new ApiError(refusal.status, { ...refusal.body, doc_url: source });
  }
}
