import type { Type } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { getMetadataStorage, ValidateBy } from 'class-validator';
import { type BodyOf, type Definition, type InputField, FieldError, type Properties } from '../../kernel';

/** Meaning of an absent, blank or null value of a parsed field; without options, the field is required. */
export interface AbsenceOptions {
  /** A blank text and null count as absent. */
  readonly optional?: boolean;
  /** Can be absent; null, an empty text and an empty list are read as null, which removes the stored value. */
  readonly clearable?: boolean;
  readonly default?: unknown;
}

const RULE = 'takes';

/** Parses and validates a property by a field of the kernel, whose schema also describes the property. */
export const ParsedBy = (declared: InputField<unknown>, absence: AbsenceOptions = {}): PropertyDecorator => {
  const field = withAbsence(declared, absence);
  return (target, name) => {
    const transform = Transform(({ value }: { value: unknown }): unknown => field.read(value));
    const rule = ValidateBy({
      name: RULE,
      constraints: [field],
      validator: {
        // An absent property is never transformed.
        validate: (value: unknown) =>
          !((value === undefined ? field.read(value) : value) instanceof FieldError),
      },
    });
    for (const decorate of [transform, rule]) decorate(target, name);
  };
};

function withAbsence(
  field: InputField<unknown>,
  { optional, clearable, default: defaultValue }: AbsenceOptions,
): InputField<unknown> {
  const blankable = optional === true ? field.orBlank() : field;
  const nullable = clearable === true ? blankable.orNone() : blankable;
  return defaultValue === undefined ? nullable : nullable.default(defaultValue);
}

/** Base of a DTO that adds the body fields of a definition to those of another DTO. */
export function withFields<Base extends object, Given extends Properties>(
  base: new () => Base,
  definition: Definition<Given>,
): new () => Base & BodyOf<Given> {
  class FormWithFields extends (base as new () => object) {}
  for (const [name, field] of definition.fields) ParsedBy(field)(FormWithFields.prototype, name);
  return FormWithFields as new () => Base & BodyOf<Given>;
}

const fieldsByForm = new WeakMap<Type, ReadonlyMap<string, InputField<unknown>>>();

export function fieldsOf(form: Type): ReadonlyMap<string, InputField<unknown>> {
  let fields = fieldsByForm.get(form);
  if (fields === undefined) {
    const rules = getMetadataStorage().getTargetValidationMetadatas(form, '', false, false);
    fields = new Map(
      rules.flatMap(({ name, propertyName, constraints = [] }) =>
        name === RULE ? [[propertyName, constraints[0] as InputField<unknown>]] : [],
      ),
    );
    fieldsByForm.set(form, fields);
  }
  return fields;
}
