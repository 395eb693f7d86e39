import type { ActionClass } from './group';

/** Suggested step of a class, unless the code has its own. */
export const classActions: Readonly<Record<ActionClass, string>> = {
  R: 'Read the message and the named parameter or details, correct the request or the resource, then try again.',
  B: 'Honour Retry-After. Where a retry is appropriate, back off exponentially and give up after a few attempts; contact support if it persists.',
  C: 'Check the credential that is named. Sign in again or have an administrator correct it; do not repeat the request with the same credential.',
  P: 'Check which policy of the account, model, project or organisation applies. Have it corrected or request access before trying again.',
  F: 'Check who pays, the balance, the spending limits and the payment settings. Contact the billing administrator before trying again.',
};

const askSupport = 'Do not repeat the request and do not release its hold. Give support the request ID.';
const incomplete =
  'Treat what you received as incomplete. Find out which side effects took place before you repeat anything that must not happen twice.';

export const codeActions: Readonly<Record<string, string>> = {
  billing_limit_reached:
    'Top up the paying account or contact its billing administrator, then try again. Replacing the API key does not help.',
  budget_exceeded:
    "Wait until the budget resets, or have someone entitled raise the key's limit. Adding funds to the wallet alone may not help.",
  csrf_rejected: "Reload the page on the portal's own address, sign in again and repeat the action.",
  edge_error: 'Retry with exponential backoff, a few times at most; contact support if it persists.',
  identity_execution_capacity:
    'Wait for current work to finish, as long as Retry-After says. Where the details forbid reallocation, do not switch to another identity.',
  atomic_canary_manual_review: askSupport,
  atomic_canary_unknown: askSupport,
  realtime_call_recovery_required: 'Do not create another call in its place. Give support the request ID.',
  requester_bridge_required_unavailable:
    'Have an administrator restore the bridge, or choose a workflow that does without it. Do not keep retrying this route.',
  settlement_pending:
    'Ask again with the same body and the same Idempotency-Key, never with a new key. Contact support if it stays pending.',
  stream_error: incomplete,
  stream_interrupted: incomplete,
  streaming_settlement_buffer_exceeded:
    'Have support reconcile the original request first. Then ask for a smaller response, or have the buffer setting corrected.',
  streaming_settlement_cancelled:
    'The cancellation does not prove that no work was done: do not repeat the request until support has confirmed what ran and what was billed.',
  streaming_settlement_failed:
    'Treat the request as unconfirmed and do not repeat it until support has reconciled it by its request ID.',
  supplier_price_unresolved:
    'Have an administrator restore the exact price. This can happen before or after the supplier ran: check whether the request was already carried out.',
  supplier_settlement_failed: 'Do not repeat the request. Give support the request ID.',
  supplier_settlement_unavailable:
    'Do not repeat the request automatically. Support first confirms the original request and what was billed.',
};
