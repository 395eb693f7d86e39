import { randomBytes } from 'node:crypto';
import { apiVersion, describedEvents } from './facts';
import { invalid, type ApiError } from './parameters';
import { requireShape, shaped } from './shapes';

export type Stored = Record<string, unknown> & { id: string };

export interface SentEvent {
  readonly id: string;
  readonly type: string;
  readonly text: string;
}

export const newId = (prefix: string): string => `${prefix}_${randomBytes(12).toString('hex')}`;
export const now = (): number => Math.floor(Date.now() / 1_000);

export const missing = (what: string): ApiError =>
  invalid(`There is no such ${what}.`, what, 'resource_missing');

/** The books hold what one account at the processor has, and what happened in it. */
export class AccountBooks {
  readonly customers = new Map<string, Stored>();
  readonly sessions = new Map<string, Stored>();
  readonly intents = new Map<string, Stored>();
  readonly charges = new Map<string, Stored>();
  readonly methods = new Map<string, Stored>();
  readonly disputes = new Map<string, Stored>();
  readonly refunds = new Map<string, Stored>();
  readonly endpoints: Stored[] = [];
  /** Those that are to be brought; what takes them out here loses them. */
  readonly events: SentEvent[] = [];
  /** All of them, as the account lists them. */
  readonly told: Stored[] = [];
  onEvent: (event: SentEvent) => void = () => undefined;

  constructor(readonly live: boolean) {}

  keep(into: Map<string, Stored>, [object, prefix]: readonly [string, string], fields: object): Stored {
    const stored = this.made(object, prefix, fields);
    into.set(stored.id, stored);
    return stored;
  }

  made(object: string, prefix: string, fields: object): Stored {
    const mode = object === 'refund' ? {} : { livemode: this.live };
    return shaped(object, { id: newId(prefix), object, created: now(), ...mode, ...fields }) as Stored;
  }

  /** Fields that are not given are empty, as for a stranger's object. */
  emit(type: string, fields: object): SentEvent {
    const name = describedEvents.get(type);
    if (name === undefined) throw new Error(`Stripe sends no event ${type}`);
    const object: Record<string, unknown> =
      'object' in fields ? { ...fields } : this.made(name, name, fields);
    requireShape(name, object);
    const told = this.made('event', 'evt', {
      api_version: apiVersion,
      type,
      data: { object: structuredClone(object) },
      pending_webhooks: 1,
      request: { id: null, idempotency_key: null },
    });
    this.told.push(told);
    const event = { id: told.id, type, text: JSON.stringify(told) };
    this.events.push(event);
    this.onEvent(event);
    return event;
  }

  chargeOf(intentId: string): Stored {
    const charge = [...this.charges.values()].find((one) => one['payment_intent'] === intentId);
    if (charge === undefined) throw missing('payment_intent');
    return charge;
  }
}
