import type { Type } from '@nestjs/common';
import { objectSchema, type Schema } from '../../kernel';
import { fieldsOf, getMetadataStorage } from '../../platform';
import type { BodyForm } from '../portal-body';
import { otherPropertiesOf } from '../validation';

interface Rule {
  readonly name: string;
  readonly constraints: readonly unknown[];
  readonly each: boolean;
}

/** A rule of class-validator says this about a value. A rule that is not here says nothing. */
const rules: Readonly<Record<string, (constraints: readonly unknown[]) => Schema>> = {
  isString: () => ({ type: 'string' }),
  isInt: () => ({ type: 'integer' }),
  isNumber: () => ({ type: 'number' }),
  isBoolean: () => ({ type: 'boolean' }),
  isEmail: () => ({ type: 'string', format: 'email' }),
  isUrl: () => ({ type: 'string', format: 'uri' }),
  isUuid: () => ({ type: 'string', format: 'uuid' }),
  isDateString: () => ({ type: 'string', format: 'date-time' }),
  isIso8601: () => ({ type: 'string', format: 'date-time' }),
  isDollars: ([amount]) => amount as Schema,
  isArray: () => ({ type: 'array' }),
  isObject: () => ({ type: 'object' }),
  isNotEmpty: () => ({ minLength: 1 }),
  isIn: ([values]) => ({ enum: values as readonly unknown[] }),
  isEnum: ([, values]) => ({ enum: values as readonly unknown[] }),
  equals: ([value]) => ({ const: value }),
  min: ([least]) => ({ minimum: Number(least) }),
  max: ([most]) => ({ maximum: Number(most) }),
  isPositive: () => ({ minimum: 0 }),
  minLength: ([least]) => ({ type: 'string', minLength: Number(least) }),
  maxLength: ([most]) => ({ type: 'string', maxLength: Number(most) }),
  isLength: ([least, most]) => ({
    type: 'string',
    minLength: Number(least),
    ...(most === undefined ? {} : { maxLength: Number(most) }),
  }),
  matches: ([pattern]) => ({ type: 'string', pattern: (pattern as RegExp).source }),
  arrayMaxSize: ([most]) => ({ type: 'array', maxItems: Number(most) }),
  arrayMinSize: ([least]) => ({ type: 'array', minItems: Number(least) }),
};

const jsonTypes = new Map<unknown, string>([
  [String, 'string'],
  [Number, 'number'],
  [Boolean, 'boolean'],
  [Array, 'array'],
]);

/** A form as JSON Schema: by its fields and its validation rules, which are what is really enforced. */
export const schemaOfForm = (form: BodyForm): Schema =>
  typeof form === 'function' ? schemaOfClass(form) : objectSchema(form);

function schemaOfClass(form: Type): Schema {
  const found = getMetadataStorage().getTargetValidationMetadatas(form, '', false, false);
  const properties: Record<string, Schema> = {};
  const required: string[] = [];
  const declared = fieldsOf(form);
  for (const [name, metadata] of Map.groupBy(found, ({ propertyName }) => propertyName)) {
    const ofProperty = metadata.map(({ name: rule, constraints, each }): Rule => ({
      name: rule ?? '',
      constraints: constraints ?? [],
      each,
    }));
    const field = declared.get(name);
    properties[name] = field?.schema ?? propertySchema(form, name, ofProperty);
    if (field?.isRequired !== false && isRequired(metadata)) required.push(name);
  }
  return {
    type: 'object',
    properties,
    ...(required.length === 0 ? {} : { required: required.sort() }),
    ...otherPropertiesOf(form),
  };
}

/** `IsOptional` and its like are conditions in place of rules, and `Allow` is no rule at all. */
const isRequired = (metadata: readonly { readonly type: string }[]): boolean =>
  !metadata.some(({ type }) => type === 'conditionalValidation') &&
  metadata.some(({ type }) => type !== 'whitelistValidation');

function propertySchema(form: Type, name: string, ofProperty: readonly Rule[]): Schema {
  const merge = (chosen: readonly Rule[]): Schema =>
    Object.assign(
      {},
      ...chosen.map(({ name: rule, constraints }) => rules[rule]?.(constraints) ?? {}),
    ) as Schema;
  const own = merge(ofProperty.filter(({ each }) => !each));
  const ofItems = ofProperty.filter(({ each }) => each);
  const declared = jsonTypes.get(Reflect.getMetadata('design:type', form.prototype as object, name));
  if (ofItems.length > 0) return { type: 'array', ...own, items: merge(ofItems) };
  return own.type === undefined && declared !== undefined && own.enum === undefined
    ? { type: declared, ...own }
    : own;
}
