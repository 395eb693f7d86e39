import type { Type } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { getMetadataStorage, ValidateBy } from './rules';
import { type BodyOf, type Definition, type InputField, FieldError, type Properties } from '../kernel';

const RULE = 'takes';

/** Declares that a field parses and validates a property of a form or a query. */
export const ParsedBy =
  <Value>(field: InputField<Value>): PropertyDecorator =>
  (target, name) => {
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

/** Base of a form that adds the body fields of a definition to those of another form. */
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
