import type { ProcessorAccount } from './account';
import { now, type ProcessorObject } from './account-store';
import { ApiError, listOf, numberOf, objectOf, type Parameters } from './parameters';

/** Number of days for which events are listed. */
const EVENT_DAYS = 30;

export interface ProcessorCall {
  /** For example `POST /v1/customers`, with `:id` in place of an id. */
  readonly name: string;
  readonly id: string;
  readonly parameters: Parameters;
}

/** Handles a call and returns the response body. */
export function answerTo(
  account: ProcessorAccount,
  { name, id, parameters }: ProcessorCall,
  origin: string,
): object {
  switch (name) {
    case 'POST /v1/customers':
      return account.createCustomer(parameters);
    case 'POST /v1/checkout/sessions':
      return account.createSession(parameters, origin);
    case 'GET /v1/checkout/sessions/:id':
      return expand(account, requireObject(account.sessions, id), parameters);
    case 'GET /v1/payment_methods/:id':
      return requireObject(account.methods, id);
    case 'POST /v1/payment_methods/:id/detach':
      return account.detach(id);
    case 'POST /v1/payment_intents':
      return account.createIntent(parameters);
    case 'GET /v1/payment_intents/:id':
      return expand(account, requireObject(account.intents, id), parameters);
    case 'POST /v1/refunds':
      return account.refundsAndDisputes.refund(
        parameters.get('payment_intent') ?? '',
        numberOf(parameters, 'amount'),
        parameters.get('reason'),
      );
    case 'POST /v1/webhook_endpoints':
      return account.createEndpoint(parameters);
    default:
      return listObjects(account, name, parameters);
  }
}

function listObjects(account: ProcessorAccount, name: string, parameters: Parameters): object {
  const url = name.slice('GET '.length);
  switch (url) {
    case '/v1/payment_methods':
      return page(
        [...account.methods.values()].filter(
          ({ customer, type }) =>
            customer === parameters.get('customer') && matches(parameters, 'type', type),
        ),
        parameters,
        url,
      );
    case '/v1/payment_intents':
      return page(
        createdBetween([...account.intents.values()], parameters).map((intent) =>
          expand(account, intent, parameters),
        ),
        parameters,
        url,
      );
    case '/v1/refunds':
      return page(ofIntent([...account.refunds.values()], parameters), parameters, url);
    case '/v1/disputes':
      return page(ofIntent([...account.disputes.values()], parameters), parameters, url);
    case '/v1/events':
      return page(eventsOf(account, parameters), parameters, url);
    default:
      return page(account.endpoints, parameters, url);
  }
}

const matches = (parameters: Parameters, name: string, value: unknown): boolean =>
  !parameters.has(name) || parameters.get(name) === value;

const ofIntent = (all: readonly ProcessorObject[], parameters: Parameters): ProcessorObject[] =>
  createdBetween(all, parameters).filter(({ payment_intent: intent }) =>
    matches(parameters, 'payment_intent', intent),
  );

const createdBetween = (all: readonly ProcessorObject[], parameters: Parameters): ProcessorObject[] =>
  all.filter(
    ({ created }) =>
      Number(created) >= (numberOf(parameters, 'created[gte]') ?? 0) &&
      Number(created) < (numberOf(parameters, 'created[lt]') ?? Infinity),
  );

function eventsOf(account: ProcessorAccount, parameters: Parameters): ProcessorObject[] {
  const types = listOf(parameters, 'types');
  const oldest = now() - EVENT_DAYS * 86_400;
  return createdBetween(account.listedEvents, parameters).filter(
    ({ type, created }) => Number(created) >= oldest && (types.length === 0 || types.includes(String(type))),
  );
}

/** Replaces the references named in `expand` by the objects they refer to. */
function expand(account: ProcessorAccount, object: ProcessorObject, parameters: Parameters): ProcessorObject {
  const stores: Readonly<Record<string, ReadonlyMap<string, ProcessorObject>>> = {
    payment_intent: account.intents,
    latest_charge: account.charges,
    customer: account.customers,
  };
  const expansions = Object.values(objectOf(parameters, 'expand')).flatMap((path) => {
    const name = path.replace(/^data\./, '');
    const referenced = stores[name]?.get(String(object[name]));
    return referenced === undefined ? [] : [[name, referenced]];
  });
  return { ...object, ...Object.fromEntries(expansions) } as ProcessorObject;
}

function requireObject(among: ReadonlyMap<string, ProcessorObject>, id: string): ProcessorObject {
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

/** Lists the newest objects first, starting after the `starting_after` cursor. */
function page(all: readonly ProcessorObject[], parameters: Parameters, url: string): object {
  const newest = all.toReversed();
  const after = parameters.get('starting_after');
  const begin = after === undefined ? 0 : newest.findIndex(({ id }) => id === after) + 1;
  const limit = numberOf(parameters, 'limit') ?? 10;
  const data = newest.slice(begin, begin + limit);
  return { object: 'list', url, data, has_more: begin + limit < newest.length };
}
