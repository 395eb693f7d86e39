import { ValidateIf } from 'class-validator';
import type { JsonSchema } from '../../kernel';

/** Allows the field to be absent. Unlike an optional field, null is rejected, because it would reach the column. */
export const IfPresent = (): PropertyDecorator =>
  ValidateIf((_form: object, value: unknown) => value !== undefined);

type OtherProperties = Pick<JsonSchema, 'additionalProperties' | 'patternProperties'>;

const otherProperties = new WeakMap<object, OtherProperties>();

/** Ignores unknown properties instead of rejecting them; `patterns` describes those that are read. */
export const AllowsOtherProperties =
  (patterns?: Readonly<Record<string, JsonSchema>>): ClassDecorator =>
  (form) =>
    void otherProperties.set(
      form,
      patterns === undefined
        ? { additionalProperties: true }
        : { patternProperties: patterns, additionalProperties: false },
    );

export const allowsOtherProperties = (form: object): boolean => otherProperties.has(form);

export const otherPropertiesOf = (form: object): OtherProperties =>
  otherProperties.get(form) ?? { additionalProperties: false };
