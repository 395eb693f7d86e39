import type { ProcessorAccount } from './account';
import { now, type Stored } from './books';
import { ApiError, listOf, numberOf, objectOf, type Parameters } from './parameters';

/** Events are listed for so long. */
const EVENT_DAYS = 30;

export interface Call {
  /** As `POST /v1/customers`, with `:id` for an id. */
  readonly name: string;
  readonly id: string;
  readonly given: Parameters;
}

/** The calls of the interface answer so. */
export function answerTo(account: ProcessorAccount, { name, id, given }: Call, origin: string): object {
  switch (name) {
    case 'POST /v1/customers':
      return account.createCustomer(given);
    case 'POST /v1/checkout/sessions':
      return account.createSession(given, origin);
    case 'GET /v1/checkout/sessions/:id':
      return expanded(account, found(account.sessions, id), given);
    case 'GET /v1/payment_methods/:id':
      return found(account.methods, id);
    case 'POST /v1/payment_methods/:id/detach':
      return account.detach(id);
    case 'POST /v1/payment_intents':
      return account.createIntent(given);
    case 'GET /v1/payment_intents/:id':
      return expanded(account, found(account.intents, id), given);
    case 'POST /v1/refunds':
      return account.back.refund(
        given.get('payment_intent') ?? '',
        numberOf(given, 'amount'),
        given.get('reason'),
      );
    case 'POST /v1/webhook_endpoints':
      return account.createEndpoint(given);
    default:
      return listed(account, name, given);
  }
}

function listed(account: ProcessorAccount, name: string, given: Parameters): object {
  const url = name.slice('GET '.length);
  switch (url) {
    case '/v1/payment_methods':
      return page(
        [...account.methods.values()].filter(
          ({ customer, type }) => customer === given.get('customer') && matches(given, 'type', type),
        ),
        given,
        url,
      );
    case '/v1/payment_intents':
      return page(
        within([...account.intents.values()], given).map((intent) => expanded(account, intent, given)),
        given,
        url,
      );
    case '/v1/refunds':
      return page(ofIntent([...account.refunds.values()], given), given, url);
    case '/v1/disputes':
      return page(ofIntent([...account.disputes.values()], given), given, url);
    case '/v1/events':
      return page(eventsOf(account, given), given, url);
    default:
      return page(account.endpoints, given, url);
  }
}

const matches = (given: Parameters, name: string, value: unknown): boolean =>
  !given.has(name) || given.get(name) === value;

const ofIntent = (all: readonly Stored[], given: Parameters): Stored[] =>
  within(all, given).filter(({ payment_intent: intent }) => matches(given, 'payment_intent', intent));

const within = (all: readonly Stored[], given: Parameters): Stored[] =>
  all.filter(
    ({ created }) =>
      Number(created) >= (numberOf(given, 'created[gte]') ?? 0) &&
      Number(created) < (numberOf(given, 'created[lt]') ?? Infinity),
  );

function eventsOf(account: ProcessorAccount, given: Parameters): Stored[] {
  const types = listOf(given, 'types');
  const oldest = now() - EVENT_DAYS * 86_400;
  return within(account.told, given).filter(
    ({ type, created }) => Number(created) >= oldest && (types.length === 0 || types.includes(String(type))),
  );
}

/** References that are asked for are shown as what they refer to. */
function expanded(account: ProcessorAccount, object: Stored, given: Parameters): Stored {
  const stores: Readonly<Record<string, ReadonlyMap<string, Stored>>> = {
    payment_intent: account.intents,
    latest_charge: account.charges,
    customer: account.customers,
  };
  const shown = Object.values(objectOf(given, 'expand')).flatMap((path) => {
    const name = path.replace(/^data\./, '');
    const one = stores[name]?.get(String(object[name]));
    return one === undefined ? [] : [[name, one]];
  });
  return { ...object, ...Object.fromEntries(shown) } as Stored;
}

function found(among: ReadonlyMap<string, Stored>, id: string): Stored {
  const object = among.get(id);
  if (object === undefined) {
    throw new ApiError(404, {
      type: 'invalid_request_error',
      code: 'resource_missing',
      param: 'id',
      message: `There is no ${id}.`,
    });
  }
  return object;
}

/** The newest first, from after the one that is named. */
function page(all: readonly Stored[], given: Parameters, url: string): object {
  const newest = all.toReversed();
  const after = given.get('starting_after');
  const begin = after === undefined ? 0 : newest.findIndex(({ id }) => id === after) + 1;
  const limit = numberOf(given, 'limit') ?? 10;
  const data = newest.slice(begin, begin + limit);
  return { object: 'list', url, data, has_more: begin + limit < newest.length };
}
