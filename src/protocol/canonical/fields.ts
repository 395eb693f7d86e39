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

export function requireContent(
  content: readonly unknown[],
  { source }: { readonly source: DialectName },
): void {
  if (content.length > 0) return;
  const param = source === 'responses' ? 'input' : 'messages';
  const message = 'Nothing of the conversation is left that could be said to this model.';
  throw fault('invalid_request', { param, message });
}

/** Converts thrown faults to a result: readers deep in a body throw, the edge of this folder returns values. */
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
 * Reads the fields of one request object; null counts as absent. Unread members remain in `rest`, so that unknown
 * fields are counted instead of lost.
 */
export class FieldReader {
  private readonly value: JsonObject;
  private readonly readNames = new Set<string>();

  constructor(
    value: unknown,
    readonly at: string,
  ) {
    this.value = recordAt(value, at);
  }

  all(): JsonObject {
    this.skip(...Object.keys(this.value));
    return this.value;
  }

  path(name: string | number): string {
    return join(this.at, name);
  }

  raw(name: string): unknown {
    this.readNames.add(name);
    return this.value[name] ?? undefined;
  }

  /** Marks fields without content to convert: transport identifiers, states of finished items. */
  skip(...names: readonly string[]): void {
    for (const name of names) this.readNames.add(name);
  }

  text(name: string): string | undefined {
    const value = this.raw(name);
    return value === undefined ? undefined : textAt(value, this.path(name));
  }

  requireText(name: string): string {
    return textAt(this.raw(name), this.path(name));
  }

  flag(name: string): boolean | undefined {
    const value = this.raw(name);
    if (value === undefined || typeof value === 'boolean') return value;
    throw malformed(this.path(name), 'true or false');
  }

  number(name: string, min: number, max: number): number | undefined {
    const value = this.raw(name);
    if (value === undefined) return undefined;
    if (typeof value === 'number' && value >= min && value <= max) return value;
    throw malformed(this.path(name), `a number from ${min} to ${max}`);
  }

  count(name: string, min = 1): number | undefined {
    const value = this.raw(name);
    if (value === undefined) return undefined;
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= min) return value;
    throw malformed(this.path(name), `a whole number of at least ${min}`);
  }

  list(name: string): readonly unknown[] | undefined {
    const value = this.raw(name);
    return value === undefined ? undefined : listAt(value, this.path(name));
  }

  record(name: string): JsonObject | undefined {
    const value = this.raw(name);
    return value === undefined ? undefined : recordAt(value, this.path(name));
  }

  fields(name: string): FieldReader | undefined {
    const value = this.raw(name);
    return value === undefined ? undefined : new FieldReader(value, this.path(name));
  }

  requireFields(name: string): FieldReader {
    return new FieldReader(this.raw(name), this.path(name));
  }

  each<T>(name: string, read: (fields: FieldReader) => T): T[] {
    return (this.list(name) ?? []).map((value, index) =>
      read(new FieldReader(value, `${this.path(name)}.${index}`)),
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

  rest(dialect: DialectName, sharedFields: Readonly<Record<string, readonly DialectName[]>> = {}): Opaque[] {
    return Object.keys(this.value)
      .filter((name) => !this.readNames.has(name))
      .flatMap((name) => this.opaque(name, entryOf(sharedFields, name) ?? [dialect]) ?? []);
  }
}

/** Removes undefined fields in place. */
export function withoutUndefined(value: JsonObject): JsonObject {
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
