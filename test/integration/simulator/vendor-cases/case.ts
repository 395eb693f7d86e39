import type { Wire } from '../../../../simulator/vendors';

/** One rule of a vendor from both sides. */
export interface VendorCase {
  /** The name of the rule in `simulator/vendors`. */
  readonly rule: string;
  readonly wire: Wire;
  readonly model: string;
  /** This breaks it, beside the model and the least that every request has. */
  readonly breaks: object;
  /** The nearest request that does not. */
  readonly keeps: object;
  readonly status?: number;
  /** The vendor's words, or a part of them. */
  readonly says: string;
}

/** Schemas that strict modes take, and one that none of them does. */
export const closed = {
  type: 'object',
  properties: { count: { type: 'integer' } },
  required: ['count'],
  additionalProperties: false,
};
export const bounded = { ...closed, properties: { count: { type: 'integer', minimum: 1 } } };
export const open = { type: 'object', properties: { count: { type: 'integer' } }, required: ['count'] };
export const branching = {
  ...closed,
  properties: { count: { oneOf: [{ type: 'integer' }, { type: 'null' }] } },
};
