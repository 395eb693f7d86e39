import { entryOf, err, Fault, fault, ok, parseJsonText as parseOrThrow, type Result } from '../../kernel';
import { isRecord } from '../usage';
import { type DialectName, type JsonObject, type Opaque } from './request';

export const join = (at: string, name: string | number): string => (at === '' ? `${name}` : `${at}.${name}`);

export const malformed = (at: string, expected: string): Fault =>
  fault(/^input(\.|$)/.test(at) ? 'invalid_input' : 'invalid_request', {
    param: at === '' ? undefined : at,
    message: `Expected ${expected} ${at === '' ? 'as the body' : `at ${at}`}.`,
  });

export const unsupported = (at: string, message: string, details?: Record<string, unknown>): Fault =>
  fault('unsupported_parameter', { param: at, message, details });

/** A translation may leave out all there was. */
export function needSomething(said: readonly unknown[], { source }: { readonly source: DialectName }): void {
  if (said.length > 0) return;
  const param = source === 'responses' ? 'input' : 'messages';
  const message = 'Nothing of the conversation is left that could be said to this model.';
  throw fault('invalid_request', { param, message });
}

/** Readers deep in a body throw what is wrong with it; the edge of this folder answers with a value. */
export function attempt<T>(work: () => T): Result<T, Fault> {
  try {
    return ok(work());
  } catch (error) {
    if (error instanceof Fault) return err(error);
    throw error;
  }
}

function recordAt(value: unknown, at: string): JsonObject {
  if (!isRecord(value)) throw malformed(at, 'an object');
  return value;
}

export function textAt(value: unknown, at: string): string {
  if (typeof value !== 'string') throw malformed(at, 'a string');
  return value;
}

export function listAt(value: unknown, at: string): readonly unknown[] {
  if (!Array.isArray(value)) throw malformed(at, 'a list');
  return value;
}

/**
 * The fields of one object of a request. Null counts as absent. Members that were not read are left over in `rest`, so
 * that a field this gateway has never heard of is counted instead of lost.
 */
export class Fields {
  private readonly value: JsonObject;
  private readonly known = new Set<string>();

  constructor(
    value: unknown,
    readonly at: string,
  ) {
    this.value = recordAt(value, at);
  }

  /** The whole object, for what is carried unread. */
  all(): JsonObject {
    this.skip(...Object.keys(this.value));
    return this.value;
  }

  path(name: string | number): string {
    return join(this.at, name);
  }

  raw(name: string): unknown {
    this.known.add(name);
    return this.value[name] ?? undefined;
  }

  /** These fields carry nothing to translate: identifiers of the transport, states of finished items. */
  skip(...names: readonly string[]): void {
    for (const name of names) this.known.add(name);
  }

  text(name: string): string | undefined {
    const value = this.raw(name);
    return value === undefined ? undefined : textAt(value, this.path(name));
  }

  needText(name: string): string {
    return textAt(this.raw(name), this.path(name));
  }

  flag(name: string): boolean | undefined {
    const value = this.raw(name);
    if (value === undefined || typeof value === 'boolean') return value;
    throw malformed(this.path(name), 'true or false');
  }

  number(name: string, least: number, most: number): number | undefined {
    const value = this.raw(name);
    if (value === undefined) return undefined;
    if (typeof value === 'number' && value >= least && value <= most) return value;
    throw malformed(this.path(name), `a number from ${least} to ${most}`);
  }

  count(name: string, least = 1): number | undefined {
    const value = this.raw(name);
    if (value === undefined) return undefined;
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least) return value;
    throw malformed(this.path(name), `a whole number of at least ${least}`);
  }

  list(name: string): readonly unknown[] | undefined {
    const value = this.raw(name);
    return value === undefined ? undefined : listAt(value, this.path(name));
  }

  record(name: string): JsonObject | undefined {
    const value = this.raw(name);
    return value === undefined ? undefined : recordAt(value, this.path(name));
  }

  fields(name: string): Fields | undefined {
    const value = this.raw(name);
    return value === undefined ? undefined : new Fields(value, this.path(name));
  }

  needFields(name: string): Fields {
    return new Fields(this.raw(name), this.path(name));
  }

  /** It reads each element of a list as fields. */
  each<T>(name: string, read: (fields: Fields) => T): T[] {
    return (this.list(name) ?? []).map((value, index) =>
      read(new Fields(value, `${this.path(name)}.${index}`)),
    );
  }

  opaque(
    name: string,
    dialects: readonly DialectName[],
    essential?: Opaque['essential'],
  ): Opaque | undefined {
    const value = this.raw(name);
    if (value === undefined) return undefined;
    return { dialects, field: name, at: this.path(name), value, essential };
  }

  rest(dialect: DialectName, spelledAlike: Readonly<Record<string, readonly DialectName[]>> = {}): Opaque[] {
    return Object.keys(this.value)
      .filter((name) => !this.known.has(name))
      .flatMap((name) => this.opaque(name, entryOf(spelledAlike, name) ?? [dialect]) ?? []);
  }
}

/** The object without the fields that are not there. */
export function present(value: JsonObject): JsonObject {
  for (const name in value) if (value[name] === undefined) delete value[name];
  return value;
}

export function parseJsonText(text: string): unknown {
  try {
    return parseOrThrow(text);
  } catch {
    return undefined;
  }
}
