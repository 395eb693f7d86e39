import { describedObjects } from './facts';
import { ApiError, invalid, objectOf, type Parameters } from './parameters';

/** An account at the processor has switched these on. */
export interface AccountSwitches {
  /** Ways of paying that lead a customer away, such as bank redirects. */
  readonly hasRedirects: boolean;
}

interface Rule {
  /** Stripe says so here; read on 26 November 2026. */
  readonly source: string;
  /** The refusal, or null where the call keeps the rule. */
  readonly check: (given: Parameters, account: AccountSwitches) => ApiError | null;
}

const rule = (source: string, check: Rule['check']): Rule => ({
  source: `https://docs.stripe.com/${source}`,
  check,
});

const LEAST_CENTS = 50;
const MOST_CENTS = 99_999_999;

function amountWithin(name: string, value: string | undefined): ApiError | null {
  if (value === undefined) return null;
  if (Number(value) < LEAST_CENTS)
    return invalid(`${name}: too small to be charged.`, name, 'amount_too_small');
  return Number(value) > MOST_CENTS
    ? invalid(`${name}: more than eight digits.`, name, 'amount_too_large')
    : null;
}

function metadataWithin(given: Parameters): ApiError | null {
  const entries = [...given].filter(([name]) => /(^|\[)metadata\]?\[/.test(name));
  const isTooMuch = entries.some(
    ([name, value]) => (/\[([^[\]]+)\]$/.exec(name)?.[1]?.length ?? 0) > 40 || value.length > 500,
  );
  return isTooMuch || entries.length > 100
    ? invalid('Metadata: 50 keys of 40 characters, values of 500.', 'metadata')
    : null;
}

const isTrue = (given: Parameters, name: string): boolean => given.has(name) && given.get(name) !== 'false';

/** Where no way of paying is named, those of the account's dashboard are taken, redirects among them. */
function redirectsAnswered(given: Parameters, { hasRedirects }: AccountSwitches): ApiError | null {
  const isAnswered =
    given.get('automatic_payment_methods[allow_redirects]') === 'never' ||
    given.has('return_url') ||
    [...given.keys()].some((name) => name.startsWith('allowed_payment_method_types['));
  if (!hasRedirects || !isTrue(given, 'confirm') || isAnswered) return null;
  return invalid(
    'Ways of paying may lead away: give return_url, or set allow_redirects to never.',
    'return_url',
  );
}

const needsConfirm =
  (name: string): Rule['check'] =>
  (given) =>
    isTrue(given, name) && !isTrue(given, 'confirm')
      ? invalid(`${name} goes with confirm alone.`, name, 'payment_intent_invalid_parameter')
      : null;

const isAddress = (text: string): boolean => /^https?:\/\/[^\s/]+/.test(text);

const addressed =
  (...names: string[]): Rule['check'] =>
  (given) => {
    const wrong = names.find((name) => given.has(name) && !isAddress(given.get(name) ?? ''));
    return wrong === undefined ? null : invalid(`${wrong} is no address.`, wrong, 'url_invalid');
  };

const required = (name: string): ApiError => invalid(`${name} is missing.`, name, 'parameter_missing');

const has = (given: Parameters, name: string): boolean =>
  [...given.keys()].some((one) => one === name || one.startsWith(`${name}[`));

function sessionOfMode(given: Parameters): ApiError | null {
  const mode = given.get('mode');
  if (mode === undefined) return required('mode');
  if (!given.has('success_url')) return required('success_url');
  if (mode === 'setup') {
    if (has(given, 'line_items')) return invalid('Nothing is sold in setup mode.', 'line_items');
    if (has(given, 'payment_intent_data'))
      return invalid('Nothing is paid in setup mode.', 'payment_intent_data');
    return given.has('currency') ? null : required('currency');
  }
  return has(given, 'line_items') ? null : required('line_items');
}

/** Only fields that are references can be shown as what they refer to. */
const expandable =
  (object: string, prefix = ''): Rule['check'] =>
  (given) => {
    const wrong = Object.values(objectOf(given, 'expand')).find((path) => {
      const field = path.startsWith(prefix)
        ? describedObjects.get(object)?.get(path.slice(prefix.length))
        : undefined;
      return field?.kind !== 'reference';
    });
    return wrong === undefined ? null : invalid(`${wrong} cannot be expanded.`, 'expand');
  };

const listed: Rule = rule('api/pagination', (given) => {
  const limit = Number(given.get('limit') ?? 10);
  return limit >= 1 && limit <= 100 ? null : invalid('limit: 1 to 100.', 'limit');
});
const labelled = rule('api/metadata', metadataWithin);

const rules: Readonly<Record<string, readonly Rule[]>> = {
  'POST /v1/customers': [labelled],
  'POST /v1/checkout/sessions': [
    rule('api/checkout/sessions/create', sessionOfMode),
    rule('api/checkout/sessions/create#success_url', addressed('success_url', 'cancel_url')),
    rule('api/checkout/sessions/create#client_reference_id', (given) =>
      (given.get('client_reference_id') ?? '').length > 200
        ? invalid('client_reference_id: at most 200 characters.', 'client_reference_id')
        : null,
    ),
    rule('currencies#minimum-and-maximum-charge-amounts', (given) =>
      amountWithin('line_items', given.get('line_items[0][price_data][unit_amount]')),
    ),
    labelled,
  ],
  'GET /v1/checkout/sessions/:id': [rule('api/expanding_objects', expandable('checkout.session'))],
  'POST /v1/payment_intents': [
    rule('currencies#minimum-and-maximum-charge-amounts', (given) =>
      amountWithin('amount', given.get('amount')),
    ),
    rule('upgrades/manage-payment-methods', redirectsAnswered),
    rule('api/payment_intents/create#return_url', needsConfirm('return_url')),
    rule('api/payment_intents/create#off_session', needsConfirm('off_session')),
    rule('api/payment_intents/create#automatic_payment_methods', (given) =>
      has(given, 'automatic_payment_methods') && has(given, 'allowed_payment_method_types')
        ? invalid(
            'Only one of two ways to name ways of paying.',
            'automatic_payment_methods',
            'parameters_exclusive',
          )
        : null,
    ),
    rule('api/payment_intents/confirm', (given) =>
      isTrue(given, 'confirm') && !given.has('payment_method')
        ? invalid('There is nothing to pay with.', 'payment_method', 'payment_intent_unexpected_state')
        : null,
    ),
    rule('api/payment_intents/create#return_url', addressed('return_url')),
    labelled,
  ],
  'GET /v1/payment_intents/:id': [rule('api/expanding_objects', expandable('payment_intent'))],
  'GET /v1/payment_intents': [listed, rule('api/expanding_objects', expandable('payment_intent', 'data.'))],
  'POST /v1/refunds': [
    rule('api/refunds/create', (given) => (given.has('payment_intent') ? null : required('payment_intent'))),
    rule('api/refunds/create#amount', (given) =>
      Number(given.get('amount') ?? 1) >= 1
        ? null
        : invalid('amount: at least 1.', 'amount', 'parameter_invalid_integer'),
    ),
  ],
  'GET /v1/payment_methods': [listed],
  'GET /v1/refunds': [listed],
  'GET /v1/disputes': [listed],
  'GET /v1/events': [
    listed,
    rule('api/events/list#types', (given) =>
      Object.keys(objectOf(given, 'types')).length > 20 ? invalid('types: at most 20.', 'types') : null,
    ),
  ],
  'GET /v1/webhook_endpoints': [listed],
  'POST /v1/webhook_endpoints': [rule('api/webhook_endpoints/create#url', addressed('url'))],
};

/** Refuses what the description of the interface allows and its documentation does not. */
export function requireRules(call: string, given: Parameters, account: AccountSwitches): void {
  for (const { check, source } of rules[call] ?? []) {
    const refusal = check(given, account);
    if (refusal !== null) throw new ApiError(refusal.status, { ...refusal.body, doc_url: source });
  }
}
