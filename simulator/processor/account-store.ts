import { randomBytes } from 'node:crypto';
import { apiVersion, describedEvents } from './facts';
import { invalid, type ApiError } from './parameters';
import { requireShape, completeObject } from './shapes';

export type ProcessorObject = Record<string, unknown> & { id: string };

export interface SentEvent {
  readonly id: string;
  readonly type: string;
  readonly text: string;
}

export const newId = (prefix: string): string => `${prefix}_${randomBytes(12).toString('hex')}`;
export const now = (): number => Math.floor(Date.now() / 1_000);

export const notFound = (objectName: string): ApiError =>
  invalid(`There is no such ${objectName}.`, objectName, 'resource_missing');

/** Objects and events of one account at the processor. */
export class AccountStore {
  readonly customers = new Map<string, ProcessorObject>();
  readonly sessions = new Map<string, ProcessorObject>();
  readonly intents = new Map<string, ProcessorObject>();
  readonly charges = new Map<string, ProcessorObject>();
  readonly methods = new Map<string, ProcessorObject>();
  readonly disputes = new Map<string, ProcessorObject>();
  readonly refunds = new Map<string, ProcessorObject>();
  readonly endpoints: ProcessorObject[] = [];
  /** Events to be delivered; removing one from the list loses it. */
  readonly events: SentEvent[] = [];
  /** All events, as the account lists them. */
  readonly listedEvents: ProcessorObject[] = [];
  onEvent: (event: SentEvent) => void = () => undefined;

  constructor(readonly live: boolean) {}

  store(
    into: Map<string, ProcessorObject>,
    [object, prefix]: readonly [string, string],
    fields: object,
  ): ProcessorObject {
    const stored = this.createObject(object, prefix, fields);
    into.set(stored.id, stored);
    return stored;
  }

  createObject(object: string, prefix: string, fields: object): ProcessorObject {
    const mode = object === 'refund' ? {} : { livemode: this.live };
    return completeObject(object, {
      id: newId(prefix),
      object,
      created: now(),
      ...mode,
      ...fields,
    }) as ProcessorObject;
  }

  /** Fields that are not set are empty, as for an object created elsewhere. */
  emit(type: string, fields: object): SentEvent {
    const name = describedEvents.get(type);
    if (name === undefined) throw new Error(`Stripe sends no event ${type}`);
    const object: Record<string, unknown> =
      'object' in fields ? { ...fields } : this.createObject(name, name, fields);
    requireShape(name, object);
    const eventObject = this.createObject('event', 'evt', {
      api_version: apiVersion,
      type,
      data: { object: structuredClone(object) },
      pending_webhooks: 1,
      request: { id: null, idempotency_key: null },
    });
    this.listedEvents.push(eventObject);
    const event = { id: eventObject.id, type, text: JSON.stringify(eventObject) };
    this.events.push(event);
    this.onEvent(event);
    return event;
  }

  chargeOf(intentId: string): ProcessorObject {
    const charge = [...this.charges.values()].find((candidate) => candidate['payment_intent'] === intentId);
    if (charge === undefined) throw notFound('payment_intent');
    return charge;
  }
}
