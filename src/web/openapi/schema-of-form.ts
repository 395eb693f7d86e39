import type { Type } from '@nestjs/common';
import { getMetadataStorage } from 'class-validator';
import { objectSchema, type JsonSchema } from '../../kernel';
import type { BodyForm } from '../portal-body.interceptor';
import { fieldsOf } from '../validation/parsed-by.decorator';
import { otherPropertiesOf } from '../validation/presence.decorators';

interface ValidationRule {
  readonly name: string;
  readonly constraints: readonly unknown[];
  readonly each: boolean;
}

/** JSON Schema of each class-validator rule; rules not listed add nothing. */
const rules: Readonly<Record<string, (constraints: readonly unknown[]) => JsonSchema>> = {
  isString: () => ({ type: 'string' }),
  isInt: () => ({ type: 'integer' }),
  isNumber: () => ({ type: 'number' }),
  isBoolean: () => ({ type: 'boolean' }),
  isEmail: () => ({ type: 'string', format: 'email' }),
  isUrl: () => ({ type: 'string', format: 'uri' }),
  isUuid: () => ({ type: 'string', format: 'uuid' }),
  isDateString: () => ({ type: 'string', format: 'date-time' }),
  isIso8601: () => ({ type: 'string', format: 'date-time' }),
  isDollars: ([amount]) => amount as JsonSchema,
  isArray: () => ({ type: 'array' }),
  isObject: () => ({ type: 'object' }),
  isNotEmpty: () => ({ minLength: 1 }),
  isIn: ([values]) => ({ enum: values as readonly unknown[] }),
  isEnum: ([, values]) => ({ enum: values as readonly unknown[] }),
  equals: ([value]) => ({ const: value }),
  min: ([min]) => ({ minimum: Number(min) }),
  max: ([max]) => ({ maximum: Number(max) }),
  isPositive: () => ({ minimum: 0 }),
  minLength: ([min]) => ({ type: 'string', minLength: Number(min) }),
  maxLength: ([max]) => ({ type: 'string', maxLength: Number(max) }),
  isLength: ([min, max]) => ({
    type: 'string',
    minLength: Number(min),
    ...(max === undefined ? {} : { maxLength: Number(max) }),
  }),
  matches: ([pattern]) => ({ type: 'string', pattern: (pattern as RegExp).source }),
  arrayMaxSize: ([max]) => ({ type: 'array', maxItems: Number(max) }),
  arrayMinSize: ([min]) => ({ type: 'array', minItems: Number(min) }),
};

const jsonTypes = new Map<unknown, string>([
  [String, 'string'],
  [Number, 'number'],
  [Boolean, 'boolean'],
  [Array, 'array'],
]);

export const schemaOfForm = (form: BodyForm): JsonSchema =>
  typeof form === 'function' ? schemaOfClass(form) : objectSchema(form);

function schemaOfClass(form: Type): JsonSchema {
  const validations = getMetadataStorage().getTargetValidationMetadatas(form, '', false, false);
  const properties: Record<string, JsonSchema> = {};
  const required: string[] = [];
  const declared = fieldsOf(form);
  for (const [name, metadata] of Map.groupBy(validations, ({ propertyName }) => propertyName)) {
    const ofProperty = metadata.map(({ name: rule, constraints, each }): ValidationRule => ({
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

/** `IsOptional` and similar decorators are conditions instead of rules; `Allow` is not a rule. */
const isRequired = (metadata: readonly { readonly type: string }[]): boolean =>
  !metadata.some(({ type }) => type === 'conditionalValidation') &&
  metadata.some(({ type }) => type !== 'whitelistValidation');

function propertySchema(form: Type, name: string, ofProperty: readonly ValidationRule[]): JsonSchema {
  const merge = (selectedRules: readonly ValidationRule[]): JsonSchema =>
    Object.assign(
      {},
      ...selectedRules.map(({ name: rule, constraints }) => rules[rule]?.(constraints) ?? {}),
    ) as JsonSchema;
  const ownSchema = merge(ofProperty.filter(({ each }) => !each));
  const ofItems = ofProperty.filter(({ each }) => each);
  const declared = jsonTypes.get(Reflect.getMetadata('design:type', form.prototype as object, name));
  if (ofItems.length > 0) return { type: 'array', ...ownSchema, items: merge(ofItems) };
  return ownSchema.type === undefined && declared !== undefined && ownSchema.enum === undefined
    ? { type: declared, ...ownSchema }
    : ownSchema;
}
