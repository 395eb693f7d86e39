'use strict';

const list = (text) => text.split(/\s+/).filter(Boolean);
const call = (file, type, use = '') => ({ file, type, use: list(use) });

/** The SDK declares here the calls that we make, and the parameters that we send or the simulator has rules for. */
const calls = {
  'POST /v1/customers': call('Customers', 'CustomerCreateParams', 'email name metadata'),
  'POST /v1/checkout/sessions': call(
    'Checkout/Sessions',
    'Checkout.SessionCreateParams',
    `adaptive_pricing[enabled] cancel_url client_reference_id currency customer line_items[][quantity]
     line_items[][price_data][unit_amount] line_items[][price_data][product_data][name] metadata mode
     payment_intent_data[metadata] payment_intent_data[setup_future_usage] success_url`,
  ),
  'GET /v1/checkout/sessions/:id': call('Checkout/Sessions', 'Checkout.SessionRetrieveParams', 'expand'),
  'GET /v1/payment_methods': call(
    'PaymentMethods',
    'PaymentMethodListParams',
    'customer limit starting_after type',
  ),
  'GET /v1/payment_methods/:id': call('PaymentMethods', 'PaymentMethodRetrieveParams'),
  'POST /v1/payment_methods/:id/detach': call('PaymentMethods', 'PaymentMethodDetachParams'),
  'POST /v1/payment_intents': call(
    'PaymentIntents',
    'PaymentIntentCreateParams',
    `allowed_payment_method_types automatic_payment_methods[allow_redirects] confirm customer metadata off_session payment_method
     return_url`,
  ),
  'GET /v1/payment_intents/:id': call('PaymentIntents', 'PaymentIntentRetrieveParams', 'expand'),
  'GET /v1/payment_intents': call(
    'PaymentIntents',
    'PaymentIntentListParams',
    'created[gte] expand limit starting_after',
  ),
  'POST /v1/refunds': call('Refunds', 'RefundCreateParams', 'amount payment_intent reason'),
  'GET /v1/refunds': call('Refunds', 'RefundListParams', 'created[gte] limit payment_intent starting_after'),
  'GET /v1/disputes': call(
    'Disputes',
    'DisputeListParams',
    'created[gte] limit payment_intent starting_after',
  ),
  'GET /v1/events': call('Events', 'EventListParams', 'created[gte] created[lt] limit starting_after types'),
  'GET /v1/webhook_endpoints': call('WebhookEndpoints', 'WebhookEndpointListParams', 'limit starting_after'),
  'POST /v1/webhook_endpoints': call('WebhookEndpoints', 'WebhookEndpointCreateParams', 'api_version'),
};

/** Objects as answers and events show them: beside what is always there, the optional fields that are shown. */
const objects = {
  'checkout.session': call('Checkout/Sessions', 'Session', 'presentment_details'),
  payment_intent: call(
    'PaymentIntents',
    'PaymentIntent',
    'last_payment_error[code] last_payment_error[decline_code] last_payment_error[message]',
  ),
  setup_intent: call('SetupIntents', 'SetupIntent'),
  charge: call('Charges', 'Charge'),
  refund: call('Refunds', 'Refund', 'failure_reason'),
  dispute: call('Disputes', 'Dispute', 'balance_transactions[][amount]'),
  payment_method: call('PaymentMethods', 'PaymentMethod', 'card[wallet][type] link sepa_debit'),
  customer: call('Customers', 'Customer', 'name'),
  event: call('Events', 'EventBase'),
  webhook_endpoint: call('WebhookEndpoints', 'WebhookEndpoint', 'secret'),
};

/** Those that are handled, as in `src/billing/processor/events.ts`. */
const events = list(`
  checkout.session.completed checkout.session.async_payment_succeeded checkout.session.async_payment_failed
  checkout.session.expired payment_intent.succeeded payment_intent.payment_failed charge.refunded
  charge.refund.updated refund.created refund.updated refund.failed charge.dispute.created charge.dispute.updated
  charge.dispute.funds_withdrawn charge.dispute.funds_reinstated charge.dispute.closed setup_intent.succeeded`);

/** The codes with which the simulator refuses. */
const refusals = list(`
  amount_too_large amount_too_small authentication_required card_declined charge_already_refunded
  idempotency_key_in_use parameter_invalid_empty parameter_invalid_integer parameter_missing parameter_unknown
  parameters_exclusive payment_intent_authentication_failure payment_intent_invalid_parameter
  payment_intent_payment_attempt_failed payment_intent_unexpected_state refund_disputed_payment resource_missing
  url_invalid`);

module.exports = { calls, events, objects, refusals };
