import type { Schema } from './json-schema';

/** A value that its field does not take: what is wrong, and the name of that rule. */
export class Misfit {
  constructor(
    readonly type: string,
    /** The sentence that follows the name of the field. */
    readonly msg: string,
  ) {}
}

/** A kind says how a value is read, and how a description of the interface tells of it. */
export interface Kind<Value> {
  readonly schema: Schema;
  /** It reads from the text of an address or a form, or from a value of JSON. */
  read(given: unknown): Value | Misfit;
}

interface Absence {
  readonly isRequired: boolean;
  /** Forms send what was left empty as an empty text, and programs as null. */
  readonly blankIsAbsent: boolean;
  readonly usual?: unknown;
  /** Besides null, an empty text or list takes a value back where this says so. */
  readonly none?: 'null' | 'null or empty';
}

const missing = new Misfit('missing', 'is missing');

/**
 * A parameter, declared once: its kind, and what its absence means. Reading, refusals and the description of the
 * interface follow from it. `Value` holds undefined where the field may be absent.
 */
export class Field<Value> {
  constructor(
    private readonly kind: Kind<unknown>,
    private readonly absence: Absence = { isRequired: true, blankIsAbsent: false },
  ) {}

  optional(): Field<Value | undefined> {
    return new Field<Value | undefined>(this.kind, { ...this.absence, isRequired: false });
  }

  default(usual: Exclude<Value, undefined>): Field<Exclude<Value, undefined>> {
    return new Field<Exclude<Value, undefined>>(this.kind, { ...this.absence, isRequired: false, usual });
  }

  /** The same, of a form that sends empty texts for what was left open. */
  orBlank(): Field<Value | undefined> {
    return new Field<Value | undefined>(this.kind, {
      ...this.absence,
      isRequired: false,
      blankIsAbsent: true,
    });
  }

  /** The same, or null, which says that there is none. */
  nullable(): Field<Value | null> {
    return new Field<Value | null>(this.kind, { ...this.absence, none: 'null' });
  }

  /** May be left out, and null or an empty value takes back what was said. */
  orNone(): Field<Value | null | undefined> {
    return new Field<Value | null | undefined>(this.kind, {
      ...this.absence,
      isRequired: false,
      none: 'null or empty',
    });
  }

  /** The description says this beside the kind: words for readers, or choices whose refusal has its own code. */
  told(more: Schema): Field<Value> {
    const { schema } = this.kind;
    return new Field<Value>(
      { schema: { ...schema, ...more }, read: (given) => this.kind.read(given) },
      this.absence,
    );
  }

  get isRequired(): boolean {
    return this.absence.isRequired;
  }

  get schema(): Schema {
    const { usual, none } = this.absence;
    const schema = none === undefined ? this.kind.schema : orNull(this.kind.schema);
    return usual === undefined ? schema : { ...schema, default: usual };
  }

  read(given: unknown): Value | Misfit {
    const { isRequired, blankIsAbsent, usual, none } = this.absence;
    if (none !== undefined && (given === null || (none === 'null or empty' && isEmpty(given))))
      return null as Value;
    const isAbsent = given === undefined || (blankIsAbsent && isBlank(given));
    if (!isAbsent) return this.kind.read(given) as Value | Misfit;
    return isRequired ? missing : (usual as Value);
  }
}

const isBlank = (given: unknown): boolean =>
  given === null || (typeof given === 'string' && given.trim() === '');
const isEmpty = (given: unknown): boolean => given === '' || (Array.isArray(given) && given.length === 0);

const orNull = (schema: Schema): Schema => ({
  ...schema,
  ...(schema.type === undefined ? {} : { type: [schema.type, 'null'].flat() }),
  ...(schema.enum === undefined ? {} : { enum: [...schema.enum, null] }),
  ...(schema.anyOf === undefined ? {} : { anyOf: [...schema.anyOf, { type: 'null' }] }),
});

/** The fields of a body, by their names. */
export type Fields = Readonly<Record<string, Field<unknown>>>;

/** The same fields, none of which has to be there. */
export const optional = <Given extends Fields>(
  fields: Given,
): { [Name in keyof Given]: Given[Name] extends Field<infer Value> ? Field<Value | undefined> : never } =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.optional()])) as never;

const schemasOf = (fields: Fields): Readonly<Record<string, Schema>> =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.schema]));

export function objectSchema(fields: Fields): Schema {
  const required = Object.keys(fields).filter((name) => fields[name]?.isRequired === true);
  return {
    type: 'object',
    properties: schemasOf(fields),
    ...(required.length === 0 ? {} : { required: required.sort() }),
    additionalProperties: false,
  };
}
