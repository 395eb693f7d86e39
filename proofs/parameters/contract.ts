import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectFolder } from '#product/views';

/** A parameter as the contract tells of it, not as the service does. */
export interface ContractParameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly type: 'integer' | 'string' | 'day' | 'choice' | 'zone';
  readonly required: boolean;
}

/** A field of a body, as the contract tells of it. */
export interface ContractField {
  readonly name: string;
  readonly type:
    | 'integer'
    | 'number'
    | 'usd'
    | 'boolean'
    | 'string'
    | 'choice'
    | 'list'
    | 'line or list'
    | 'object'
    | 'day'
    | 'instant'
    | 'person'
    | 'uuid'
    | 'zone';
  readonly required: boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  /** Of a refused choice, where it has a code of its own. */
  readonly code?: string;
}

export interface ContractOperation {
  readonly method: string;
  readonly path: string;
  readonly area: string;
  readonly auth: string;
  readonly parameters?: readonly ContractParameter[];
  readonly body?: readonly ContractField[];
  /** A page sends these, where it says the same in other fields. */
  readonly form?: readonly ContractField[];
}

/** The operations of the portal. */
export function portalOperations(): ContractOperation[] {
  const text = readFileSync(join(projectFolder, 'test/contract/operations.json'), 'utf8');
  const { operations } = JSON.parse(text) as { readonly operations: readonly ContractOperation[] };
  return operations.filter(({ area }) => area !== 'gateway');
}
