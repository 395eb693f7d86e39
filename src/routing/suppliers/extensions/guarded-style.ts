import type * as contract from '#extension';
import type { Credential, LaneView } from '../../../catalogue';
import type { Owned } from '../../../extensions';
import { Fault, fault, parseJsonText, thrownWords } from '../../../kernel';
import type { Target } from '../../../protocol';
import { CallSecrets, type PictureRule, picturesOf, type SupplierStyle, type Unframer } from '../kit';
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
import { seenCall, seenCredential, seenLane, seenProvider } from './seen-values';

/** Who is told of a style that failed: its name as `<extension>/<style>`, and what it said. */
export type ReportFailure = (style: string, method: string, said: string) => void;

const NOTHING_OWN = (): readonly string[] => [];

/**
 * A style of an extension as one of ours. It sees copies, what it answers is looked at, and what it throws is a failure
 * of its lane, as if the supplier had answered with rubbish: another lane is tried, and nothing is charged.
 */
export function guardedStyle(
  { name: owned, part }: Owned<contract.SupplierStyle>,
  report: ReportFailure,
): SupplierStyle {
  const { ask, askOr } = asking(owned, report);
  return {
    name: part.name,
    credential: part.credential,
    // Nothing leaves without a secret because a style could not say whether it needs one.
    needsCredential: (provider) =>
      askOr(true, 'needsCredential', () => part.needsCredential(seenProvider(provider)), booleanIn),
    operations: (provider) =>
      askOr({}, 'operations', () => part.operations(seenProvider(provider)), operationsIn),
    fields(provider) {
      const nothing = { validates: false, own: NOTHING_OWN };
      const { validates, own } = askOr(
        nothing,
        'fields',
        () => part.fields(seenProvider(provider)),
        fieldsIn,
      );
      return { validates, own: (operation) => askOr([], 'fields', () => own(operation), listIn) };
    },
    target: (lane): Target => ({
      ...ask('target', () => part.target(seenLane(lane)), targetIn),
      facts: lane.facts,
    }),
    pictures: (lane) => picturesBy(part, lane, askOr),
    prepare(call) {
      const secrets = secretsOf(call.credential);
      const { baseUrl } = call.lane.provider;
      return ask(
        'prepare',
        () => part.prepare(seenCall(call)),
        (value) => preparedIn(value, baseUrl),
        secrets,
      );
    },
    modelList(provider, credential) {
      const secrets = secretsOf(credential);
      const list = () => part.modelList?.(seenProvider(provider), seenCredential(credential));
      return askOr(null, 'modelList', list, (value) => listCallIn(value, provider.baseUrl), secrets);
    },
    // The body may be an answer that goes on to its caller.
    readError: (body, headers) =>
      askOr(undefined, 'readError', () => part.readError(copied(body), { ...headers }), errorIn),
    ...(part.unwrap !== undefined && {
      unwrap: (body: Buffer) =>
        orItsFault(() => ask('unwrap', () => part.unwrap?.(new Uint8Array(body)), pieceIn)),
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

const copied = (body: unknown): unknown =>
  body === undefined ? undefined : parseJsonText(JSON.stringify(body));

const secretsOf = (credential: Credential | null): CallSecrets => {
  const secrets = new CallSecrets();
  secrets.add(credential, {});
  return secrets;
};

/** Calls a style, and reads what it answers with. */
type Ask = <T>(
  method: string,
  call: () => unknown,
  reader: (value: unknown) => T,
  secrets?: CallSecrets,
) => T;
/** The same, with an answer for where it fails. */
type AskOr = <T>(
  otherwise: T,
  method: string,
  call: () => unknown,
  reader: (value: unknown) => T,
  secrets?: CallSecrets,
) => T;

interface Asking {
  readonly ask: Ask;
  readonly askOr: AskOr;
}

function asking(style: string, report: ReportFailure): Asking {
  const tell = (method: string, error: unknown, secrets: CallSecrets): string => {
    const said = secrets.blankedText(thrownWords(error)).slice(0, 500);
    report(style, method, said);
    return said;
  };
  const read = <T>(call: () => unknown, reader: (value: unknown) => T): T => {
    const value = call();
    if (!(value instanceof Promise)) return reader(value);
    // A promise of it that fails must not end the process.
    value.catch(() => undefined);
    throw new Error('it answers with a promise, and has to answer at once');
  };
  return {
    ask<T>(
      method: string,
      call: () => unknown,
      reader: (value: unknown) => T,
      secrets: CallSecrets = new CallSecrets(),
    ): T {
      try {
        return read(call, reader);
      } catch (error) {
        const said = tell(method, error, secrets);
        throw fault('upstream_error', { cause: new Error(`${style} failed in ${method}(): ${said}`) });
      }
    },
    askOr<T>(
      otherwise: T,
      method: string,
      call: () => unknown,
      reader: (value: unknown) => T,
      secrets: CallSecrets = new CallSecrets(),
    ): T {
      try {
        return read(call, reader);
      } catch (error) {
        tell(method, error, secrets);
        return otherwise;
      }
    },
  };
}

/** Where a style cannot say, its pictures are bounded like those of an unknown supplier. */
function picturesBy(part: contract.SupplierStyle, lane: LaneView, askOr: AskOr): PictureRule {
  const usual = picturesOf(null, lane.facts);
  if (part.pictures === undefined) return usual;
  const { most, factor } = askOr(usual, 'pictures', () => part.pictures?.(seenLane(lane)), picturesIn);
  return {
    factor,
    most: (picture) => askOr(usual.most(picture), 'pictures', () => most(picture), countIn),
  };
}

function unframerIn(value: unknown): contract.Unframer {
  if (typeof value !== 'object' || value === null) throw new Error('the unframer is no object');
  return value as contract.Unframer;
}

/** What follows a failure is not looked at any more. */
function guardedUnframer(unframer: contract.Unframer, ask: Ask): Unframer {
  let failure: Fault | null = null;
  const guarded = <T>(work: () => T | Fault): T | Fault => {
    if (failure !== null) return failure;
    const result = orItsFault(work);
    if (result instanceof Fault) failure = result;
    return result;
  };
  return {
    push: (chunk) => guarded(() => ask('push', () => unframer.push(new Uint8Array(chunk)), pieceIn)),
    end: () => guarded(() => ask('end', () => unframer.end(), endingIn)),
  };
}

function orItsFault<T>(work: () => T | Fault): T | Fault {
  try {
    return work();
  } catch (error) {
    return error as Fault;
  }
}
