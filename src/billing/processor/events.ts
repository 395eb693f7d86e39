/** Event types that are handled; others are stored and ignored. */
export const handledEvents = [
  'checkout.session.completed',
  'checkout.session.async_payment_succeeded',
  'checkout.session.async_payment_failed',
  'checkout.session.expired',
  'payment_intent.succeeded',
  'payment_intent.payment_failed',
  'charge.refunded',
  'charge.refund.updated',
  'refund.created',
  'refund.updated',
  'refund.failed',
  'charge.dispute.created',
  'charge.dispute.updated',
  'charge.dispute.funds_withdrawn',
  'charge.dispute.funds_reinstated',
  'charge.dispute.closed',
  'setup_intent.succeeded',
] as const;

type HandledEvent = (typeof handledEvents)[number];

export interface ProcessorEvent {
  readonly id: string;
  readonly type: string;
  readonly live: boolean;
  /** Null for event types that are not handled. */
  readonly fact: Fact | null;
}

/** Relevant content of an event. Facts only add to the known state, in any order and any number of times. */
export type Fact =
  | {
      readonly kind: 'session';
      readonly sessionId: string;
      readonly reference: string | null;
      readonly intentId: string | null;
      readonly customerId: string | null;
      readonly wallet: string | null;
      readonly amountCents: number | null;
      readonly currency: string | null;
      readonly state: 'paid' | 'open' | 'failed' | 'expired';
    }
  | {
      readonly kind: 'intent';
      readonly intentId: string;
      readonly reference: string | null;
      readonly customerId: string | null;
      readonly wallet: string | null;
      readonly amountCents: number;
      readonly currency: string;
      readonly state: 'paid' | 'refused';
      readonly failureCode: string | null;
    }
  | {
      readonly kind: 'charge';
      readonly intentId: string;
      readonly amountCents: number;
      readonly currency: string;
      readonly refundedCents: number;
      /** Wallet that our order named; null for payments of other applications on the same account. */
      readonly wallet: string | null;
    }
  | {
      readonly kind: 'refund';
      readonly refundId: string;
      readonly intentId: string;
      readonly amountCents: number;
      readonly currency: string;
      /** A refund that was made can fail days later; a failed refund stays failed. */
      readonly state: 'made' | 'failed';
    }
  | {
      readonly kind: 'dispute';
      readonly disputeId: string;
      readonly intentId: string;
      readonly amountCents: number;
      readonly currency: string;
      readonly state: 'open' | 'won' | 'lost';
      /** Time of this state of the dispute, in seconds of the processor's clock. */
      readonly observedAt: number;
      /** Number of balance movements, to order observations of the same second. */
      readonly movements: number;
    }
  | { readonly kind: 'cards'; readonly customerId: string };

type EventObject = Readonly<Record<string, unknown>>;

/** Returns null if the body is not an event. */
export function readEvent(body: unknown): ProcessorEvent | null {
  const event = recordOf(body);
  const id = textOf(event['id']);
  const type = textOf(event['type']);
  if (id === null || type === null || typeof event['livemode'] !== 'boolean') return null;
  const handled = handledEvents.find((candidate) => candidate === type);
  const object = recordOf(recordOf(event['data'])['object']);
  const fact = handled === undefined ? null : factOf(handled, object, centsOf(event['created']) ?? 0);
  return { id: id.slice(0, 255), type: type.slice(0, 100), live: event['livemode'], fact };
}

function factOf(type: HandledEvent, object: EventObject, createdAt: number): Fact | null {
  switch (type) {
    case 'checkout.session.completed':
    case 'checkout.session.async_payment_succeeded':
      return sessionFact(object, object['payment_status'] === 'paid' ? 'paid' : 'open');
    case 'checkout.session.async_payment_failed':
      return sessionFact(object, 'failed');
    case 'checkout.session.expired':
      return sessionFact(object, 'expired');
    case 'payment_intent.succeeded':
      return intentFact(object, 'paid');
    case 'payment_intent.payment_failed':
      return intentFact(object, 'refused');
    case 'charge.refunded':
      return chargeFact(object);
    case 'charge.refund.updated':
    case 'refund.created':
    case 'refund.updated':
    case 'refund.failed':
      return refundFact(object);
    case 'charge.dispute.created':
    case 'charge.dispute.updated':
    case 'charge.dispute.funds_withdrawn':
    case 'charge.dispute.funds_reinstated':
    case 'charge.dispute.closed':
      return disputeFact(object, createdAt);
    case 'setup_intent.succeeded':
      return cardsFact(object);
  }
}

/** Reads a session from an event or from a response of the processor. */
export function sessionFact(
  object: EventObject,
  state: Extract<Fact, { kind: 'session' }>['state'],
): Fact | null {
  if (object['mode'] === 'setup') return cardsFact(object);
  const sessionId = textOf(object['id']);
  if (sessionId === null) return null;
  return {
    kind: 'session',
    sessionId,
    reference: textOf(object['client_reference_id']),
    intentId: idOf(object['payment_intent']),
    customerId: idOf(object['customer']),
    wallet: textOf(recordOf(object['metadata'])['wallet']),
    amountCents: centsOf(object['amount_total']),
    currency: textOf(object['currency']),
    state,
  };
}

export function intentFact(object: EventObject, state: 'paid' | 'refused'): Fact | null {
  const intentId = textOf(object['id']);
  const amountCents = centsOf(state === 'paid' ? object['amount_received'] : object['amount']);
  const currency = textOf(object['currency']);
  if (intentId === null || amountCents === null || currency === null) return null;
  const metadata = recordOf(object['metadata']);
  const failure = recordOf(object['last_payment_error']);
  return {
    kind: 'intent',
    intentId,
    reference: textOf(metadata['payment']),
    customerId: idOf(object['customer']),
    wallet: textOf(metadata['wallet']),
    amountCents,
    currency,
    state,
    failureCode: textOf(failure['decline_code']) ?? textOf(failure['code']),
  };
}

export function chargeFact(object: EventObject): Fact | null {
  const intentId = idOf(object['payment_intent']);
  const amountCents = centsOf(object['amount']);
  const refundedCents = centsOf(object['amount_refunded']);
  const currency = textOf(object['currency']);
  if (intentId === null || amountCents === null || refundedCents === null || currency === null) return null;
  const wallet = textOf(recordOf(object['metadata'])['wallet']);
  return { kind: 'charge', intentId, amountCents, refundedCents, currency, wallet };
}

export function refundFact(object: EventObject): Fact | null {
  const refundId = textOf(object['id']);
  const intentId = idOf(object['payment_intent']);
  const amountCents = centsOf(object['amount']);
  const currency = textOf(object['currency']);
  const status = textOf(object['status']);
  if (refundId === null || intentId === null || amountCents === null || currency === null) return null;
  const state = status === 'failed' || status === 'canceled' ? 'failed' : 'made';
  return { kind: 'refund', refundId, intentId, amountCents, currency, state };
}

export function disputeFact(
  object: EventObject,
  observedAt: number,
): Extract<Fact, { kind: 'dispute' }> | null {
  const disputeId = textOf(object['id']);
  const intentId = idOf(object['payment_intent']);
  const amountCents = centsOf(object['amount']);
  const currency = textOf(object['currency']);
  const state = disputeState(textOf(object['status']));
  if (disputeId === null || intentId === null || amountCents === null || currency === null) return null;
  // An inquiry moves no money. It can become a dispute later, under the same id.
  if (state === null) return null;
  const transactions = object['balance_transactions'];
  const movements = Array.isArray(transactions) ? transactions.length : 0;
  return { kind: 'dispute', disputeId, intentId, amountCents, currency, state, observedAt, movements };
}

function disputeState(status: string | null): 'open' | 'won' | 'lost' | null {
  if (status === null || status.startsWith('warning_') || status === 'prevented') return null;
  return status === 'won' || status === 'lost' ? status : 'open';
}

function cardsFact(object: EventObject): Fact | null {
  const customerId = idOf(object['customer']);
  return customerId === null ? null : { kind: 'cards', customerId };
}

const recordOf = (value: unknown): EventObject =>
  typeof value === 'object' && value !== null ? (value as EventObject) : {};

const textOf = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' && value.length <= 255 ? value : null;

/** A reference is an id, or the expanded object. */
const idOf = (value: unknown): string | null => textOf(value) ?? textOf(recordOf(value)['id']);

const centsOf = (value: unknown): number | null =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
