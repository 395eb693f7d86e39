import type { Type } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { getMetadataStorage, ValidateBy } from './rules';
import { type BodyOf, type Definition, type Field, Misfit, type Properties } from '../kernel';

const RULE = 'takes';

/** A property of a form or a query that is read by its field. */
export const Takes =
  <Value>(field: Field<Value>): PropertyDecorator =>
  (target, name) => {
    const read = Transform(({ value }: { value: unknown }): unknown => field.read(value));
    const rule = ValidateBy({
      name: RULE,
      constraints: [field],
      validator: {
        // An absent property is never transformed.
        validate: (value: unknown) => !((value === undefined ? field.read(value) : value) instanceof Misfit),
      },
    });
    for (const decorate of [read, rule]) decorate(target, name);
  };

/** The base of a form that has, beside those of another, the fields that a definition takes in a body. */
export function withFields<Base extends object, Given extends Properties>(
  base: new () => Base,
  definition: Definition<Given>,
): new () => Base & BodyOf<Given> {
  class Form extends (base as new () => object) {}
  for (const [name, field] of definition.fields) Takes(field)(Form.prototype, name);
  return Form as new () => Base & BodyOf<Given>;
}

const known = new WeakMap<Type, ReadonlyMap<string, Field<unknown>>>();

/** The properties of a class that fields read. */
export function fieldsOf(form: Type): ReadonlyMap<string, Field<unknown>> {
  let fields = known.get(form);
  if (fields === undefined) {
    const rules = getMetadataStorage().getTargetValidationMetadatas(form, '', false, false);
    fields = new Map(
      rules.flatMap(({ name, propertyName, constraints = [] }) =>
        name === RULE ? [[propertyName, constraints[0] as Field<unknown>]] : [],
      ),
    );
    known.set(form, fields);
  }
  return fields;
}
