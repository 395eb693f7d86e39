import type { JsonSchema } from './json-schema';

/** A value rejected by its field: the name of the rule and the message. */
export class FieldError {
  constructor(
    readonly type: string,
    /** Sentence that follows the field's name. */
    readonly msg: string,
  ) {}
}

/** How a value is read, and how the API reference describes it. */
export interface FieldKind<Value> {
  readonly schema: JsonSchema;
  /** Reads the text of a URL or a form, or a JSON value. */
  read(input: unknown): Value | FieldError;
}

interface Absence {
  readonly isRequired: boolean;
  /** Forms send an empty text for an empty field, programs null. */
  readonly blankIsAbsent: boolean;
  readonly defaultValue?: unknown;
  /** Values that clear the field: null only, or also an empty text or list. */
  readonly none?: 'null' | 'null or empty';
}

const missing = new FieldError('missing', 'is missing');

/**
 * A parameter, declared once: its kind, and what its absence means. `Value` includes undefined if the field is
 * optional.
 */
export class InputField<Value> {
  constructor(
    private readonly kind: FieldKind<unknown>,
    private readonly absence: Absence = { isRequired: true, blankIsAbsent: false },
  ) {}

  optional(): InputField<Value | undefined> {
    return new InputField<Value | undefined>(this.kind, { ...this.absence, isRequired: false });
  }

  default(defaultValue: Exclude<Value, undefined>): InputField<Exclude<Value, undefined>> {
    return new InputField<Exclude<Value, undefined>>(this.kind, {
      ...this.absence,
      isRequired: false,
      defaultValue,
    });
  }

  /** Treats the empty texts of a form as absent. */
  orBlank(): InputField<Value | undefined> {
    return new InputField<Value | undefined>(this.kind, {
      ...this.absence,
      isRequired: false,
      blankIsAbsent: true,
    });
  }

  nullable(): InputField<Value | null> {
    return new InputField<Value | null>(this.kind, { ...this.absence, none: 'null' });
  }

  /** Optional; null or an empty value clears the field. */
  orNone(): InputField<Value | null | undefined> {
    return new InputField<Value | null | undefined>(this.kind, {
      ...this.absence,
      isRequired: false,
      none: 'null or empty',
    });
  }

  /** Adds to the described schema: a description, or choices whose rejection has its own code. */
  withSchema(more: JsonSchema): InputField<Value> {
    const { schema } = this.kind;
    return new InputField<Value>(
      { schema: { ...schema, ...more }, read: (input) => this.kind.read(input) },
      this.absence,
    );
  }

  get isRequired(): boolean {
    return this.absence.isRequired;
  }

  get schema(): JsonSchema {
    const { defaultValue, none } = this.absence;
    const schema = none === undefined ? this.kind.schema : orNull(this.kind.schema);
    return defaultValue === undefined ? schema : { ...schema, default: defaultValue };
  }

  read(input: unknown): Value | FieldError {
    const { isRequired, blankIsAbsent, defaultValue, none } = this.absence;
    if (none !== undefined && (input === null || (none === 'null or empty' && isEmpty(input))))
      return null as Value;
    const isAbsent = input === undefined || (blankIsAbsent && isBlank(input));
    if (!isAbsent) return this.kind.read(input) as Value | FieldError;
    return isRequired ? missing : (defaultValue as Value);
  }
}

const isBlank = (input: unknown): boolean =>
  input === null || (typeof input === 'string' && input.trim() === '');
const isEmpty = (input: unknown): boolean => input === '' || (Array.isArray(input) && input.length === 0);

const orNull = (schema: JsonSchema): JsonSchema => ({
  ...schema,
  ...(schema.type === undefined ? {} : { type: [schema.type, 'null'].flat() }),
  ...(schema.enum === undefined ? {} : { enum: [...schema.enum, null] }),
  ...(schema.anyOf === undefined ? {} : { anyOf: [...schema.anyOf, { type: 'null' }] }),
});

export type InputFields = Readonly<Record<string, InputField<unknown>>>;

export const optional = <Given extends InputFields>(
  fields: Given,
): {
  [Name in keyof Given]: Given[Name] extends InputField<infer Value> ? InputField<Value | undefined> : never;
} => Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.optional()])) as never;

const schemasOf = (fields: InputFields): Readonly<Record<string, JsonSchema>> =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.schema]));

export function objectSchema(fields: InputFields): JsonSchema {
  const required = Object.keys(fields).filter((name) => fields[name]?.isRequired === true);
  return {
    type: 'object',
    properties: schemasOf(fields),
    ...(required.length === 0 ? {} : { required: required.sort() }),
    additionalProperties: false,
  };
}
