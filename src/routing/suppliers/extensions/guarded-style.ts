import type * as contract from '#extension';
import type { Credential, LaneView } from '../../../catalogue';
import type { ExtensionPart } from '../../../extensions';
import { Fault, fault, parseJsonText, thrownMessage } from '../../../kernel';
import type { EncodingTarget } from '../../../protocol';
import { CallSecrets, type PictureRule, picturesOf, type CoreStyle, type StyleUnframer } from '../kit';
import {
  booleanIn,
  countIn,
  endingIn,
  errorIn,
  fieldsIn,
  listCallIn,
  listIn,
  operationsIn,
  picturesIn,
  pieceIn,
  preparedIn,
  targetIn,
} from './returned-values';
import { callForStyle, credentialForStyle, laneForStyle, providerForStyle } from './style-inputs';

/** Receives failures of a style: its name as `<extension>/<style>`, the method and the error message. */
export type ReportFailure = (style: string, method: string, said: string) => void;

const NO_OWN_FIELDS = (): readonly string[] => [];

/**
 * Wraps an extension's style. The style receives copies, its return values are validated, and an exception counts as a
 * failure of the lane: another lane is tried, and nothing is charged.
 */
export function guardedStyle(
  { name: owned, part }: ExtensionPart<contract.SupplierStyle>,
  report: ReportFailure,
): CoreStyle {
  const { invoke: ask, invokeOr: askOr } = createStyleInvoker(owned, report);
  return {
    name: part.name,
    credential: part.credential,
    // Assumes a credential if the style cannot tell, so that no request is sent without one.
    needsCredential: (provider) =>
      askOr(true, 'needsCredential', () => part.needsCredential(providerForStyle(provider)), booleanIn),
    operations: (provider) =>
      askOr({}, 'operations', () => part.operations(providerForStyle(provider)), operationsIn),
    fields(provider) {
      const defaults = { validates: false, own: NO_OWN_FIELDS };
      const { validates, own } = askOr(
        defaults,
        'fields',
        () => part.fields(providerForStyle(provider)),
        fieldsIn,
      );
      return { validates, own: (operation) => askOr([], 'fields', () => own(operation), listIn) };
    },
    target: (lane): EncodingTarget => ({
      ...ask('target', () => part.target(laneForStyle(lane)), targetIn),
      facts: lane.facts,
    }),
    pictures: (lane) => picturesBy(part, lane, askOr),
    prepare(call) {
      const secrets = secretsOf(call.credential);
      const { baseUrl } = call.lane.provider;
      return ask(
        'prepare',
        () => part.prepare(callForStyle(call)),
        (value) => preparedIn(value, baseUrl),
        secrets,
      );
    },
    modelList(provider, credential) {
      const secrets = secretsOf(credential);
      const list = () => part.modelList?.(providerForStyle(provider), credentialForStyle(credential));
      return askOr(null, 'modelList', list, (value) => listCallIn(value, provider.baseUrl), secrets);
    },
    // The body can be a response that is passed on to the caller, so the style receives a copy.
    readError: (body, headers) =>
      askOr(undefined, 'readError', () => part.readError(deepCopy(body), { ...headers }), errorIn),
    ...(part.unwrap !== undefined && {
      unwrap: (body: Buffer) =>
        resultOrFault(() => ask('unwrap', () => part.unwrap?.(new Uint8Array(body)), pieceIn)),
    }),
    ...(part.unframer !== undefined && {
      unframer: () =>
        guardedUnframer(
          ask('unframer', () => part.unframer?.(), unframerIn),
          ask,
        ),
    }),
  };
}

const deepCopy = (body: unknown): unknown =>
  body === undefined ? undefined : parseJsonText(JSON.stringify(body));

const secretsOf = (credential: Credential | null): CallSecrets => {
  const secrets = new CallSecrets();
  secrets.add(credential, {});
  return secrets;
};

type InvokeStyle = <T>(
  method: string,
  call: () => unknown,
  reader: (value: unknown) => T,
  secrets?: CallSecrets,
) => T;
type InvokeStyleOr = <T>(
  fallback: T,
  method: string,
  call: () => unknown,
  reader: (value: unknown) => T,
  secrets?: CallSecrets,
) => T;

interface StyleInvoker {
  readonly invoke: InvokeStyle;
  readonly invokeOr: InvokeStyleOr;
}

function createStyleInvoker(style: string, report: ReportFailure): StyleInvoker {
  const reportError = (method: string, error: unknown, secrets: CallSecrets): string => {
    const message = secrets.redactText(thrownMessage(error)).slice(0, 500);
    report(style, method, message);
    return message;
  };
  const read = <T>(call: () => unknown, reader: (value: unknown) => T): T => {
    const value = call();
    if (!(value instanceof Promise)) return reader(value);
    // An unhandled rejection of this promise must not end the process.
    value.catch(() => undefined);
    throw new Error('it answers with a promise, and has to answer at once');
  };
  return {
    invoke<T>(
      method: string,
      call: () => unknown,
      reader: (value: unknown) => T,
      secrets: CallSecrets = new CallSecrets(),
    ): T {
      try {
        return read(call, reader);
      } catch (error) {
        const message = reportError(method, error, secrets);
        throw fault('upstream_error', { cause: new Error(`${style} failed in ${method}(): ${message}`) });
      }
    },
    invokeOr<T>(
      fallback: T,
      method: string,
      call: () => unknown,
      reader: (value: unknown) => T,
      secrets: CallSecrets = new CallSecrets(),
    ): T {
      try {
        return read(call, reader);
      } catch (error) {
        reportError(method, error, secrets);
        return fallback;
      }
    },
  };
}

/** If the style gives no rule, images are counted as for an unknown supplier. */
function picturesBy(part: contract.SupplierStyle, lane: LaneView, askOr: InvokeStyleOr): PictureRule {
  const fallback = picturesOf(null, lane.facts);
  if (part.pictures === undefined) return fallback;
  const { most, factor } = askOr(fallback, 'pictures', () => part.pictures?.(laneForStyle(lane)), picturesIn);
  return {
    factor,
    most: (picture) => askOr(fallback.most(picture), 'pictures', () => most(picture), countIn),
  };
}

function unframerIn(value: unknown): contract.Unframer {
  if (typeof value !== 'object' || value === null) throw new Error('the unframer is no object');
  return value as contract.Unframer;
}

/** After a failure, the unframer is not called again. */
function guardedUnframer(unframer: contract.Unframer, ask: InvokeStyle): StyleUnframer {
  let failure: Fault | null = null;
  const untilFailure = <T>(work: () => T | Fault): T | Fault => {
    if (failure !== null) return failure;
    const result = resultOrFault(work);
    if (result instanceof Fault) failure = result;
    return result;
  };
  return {
    push: (chunk) => untilFailure(() => ask('push', () => unframer.push(new Uint8Array(chunk)), pieceIn)),
    end: () => untilFailure(() => ask('end', () => unframer.end(), endingIn)),
  };
}

function resultOrFault<T>(work: () => T | Fault): T | Fault {
  try {
    return work();
  } catch (error) {
    return error as Fault;
  }
}
