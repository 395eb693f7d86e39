import type { Wire } from '../../../../simulator/vendors';

/** A vendor rule with a request that breaks it and one that does not. */
export interface VendorCase {
  /** Name of the rule in `simulator/vendors`. */
  readonly rule: string;
  readonly wire: Wire;
  readonly model: string;
  /** Fields that break the rule, added to the model and the required fields. */
  readonly breaks: object;
  /** Fields of the most similar request that the vendor accepts. */
  readonly keeps: object;
  readonly status?: number;
  /** Error message of the vendor, or a part of it. */
  readonly says: string;
}

/** Schemas that strict mode accepts, except for the open one. */
export const closedSchema = {
  type: 'object',
  properties: { count: { type: 'integer' } },
  required: ['count'],
  additionalProperties: false,
};
export const boundedSchema = { ...closedSchema, properties: { count: { type: 'integer', minimum: 1 } } };
export const openSchema = { type: 'object', properties: { count: { type: 'integer' } }, required: ['count'] };
export const branchingSchema = {
  ...closedSchema,
  properties: { count: { oneOf: [{ type: 'integer' }, { type: 'null' }] } },
};
