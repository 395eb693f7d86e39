import { finalFaults, retryableFaults } from './group';

export const billingFaults = [
  finalFaults('F', 402, {
    budget_exceeded:
      'The budget of this API key is used up. It resets by itself, or its limit can be raised.',
    byok_budget_unknown:
      'The budget for calls with your own supplier key is not known. Ask your billing administrator.',
    payment_required: 'A payment is needed before this can go on. Add funds or a payment method.',
  }),
  finalFaults('F', 403, {
    billing_limit_reached:
      'The account that pays for this request has no funds left for it. Top it up to go on.',
  }),
  finalFaults('P', 403, {
    streaming_settlement_required:
      'Streams must be settled exactly here, and this route cannot do so. Turn streaming off.',
  }),
  finalFaults('R', 409, {
    settlement_pending: 'The document was converted, and its settlement is still being recorded.',
  }),
  finalFaults('R', 500, {
    payload_not_durable: 'The request could not be stored safely, so it was not carried out.',
    streaming_settlement_buffer_exceeded: 'The response outgrew the buffer that its settlement may use.',
    streaming_settlement_cancelled:
      'The settlement of this stream was cancelled. The supplier may have done the work.',
    streaming_settlement_failed:
      'The settlement of this stream did not complete, so its cost is unconfirmed.',
    supplier_settlement_failed: 'The supplier may have done the work, but its cost could not be recorded.',
  }),
  finalFaults('R', 503, {
    supplier_price_unresolved:
      "The supplier's price for this model could not be confirmed, so it cannot be charged.",
    supplier_settlement_unavailable:
      'Usage cannot be settled right now. The original request may have been carried out.',
  }),
  retryableFaults('B', 503, {
    billing_proof_unavailable: 'The proof of billing cannot be produced right now. Try again shortly.',
    billing_unavailable: 'Your funds cannot be checked right now. Nothing was charged; try again shortly.',
    budget_alert_history_unavailable:
      'The history of budget alerts cannot be shown right now. Try again shortly.',
    current_quota_unavailable: 'Your current quota cannot be read right now. Try again shortly.',
    document_conversion_settlement_unavailable:
      'Document conversions cannot be settled right now. Keep the idempotency key and try again shortly.',
    pricing_provenance_unavailable: 'The origin of this price cannot be shown right now. Try again shortly.',
  }),
] as const;
