import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectFolder } from '#product/views';

/** A parameter as described by the contract, not by the service. */
export interface ContractParameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly type: 'integer' | 'string' | 'day' | 'choice' | 'zone';
  readonly required: boolean;
}

/** A body field as described by the contract. */
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
  /** Error code of a rejected choice, if it has its own. */
  readonly code?: string;
}

export interface ContractOperation {
  readonly method: string;
  readonly path: string;
  readonly area: string;
  readonly auth: string;
  readonly parameters?: readonly ContractParameter[];
  readonly body?: readonly ContractField[];
  /** Fields that a page sends if they differ from the JSON body. */
  readonly form?: readonly ContractField[];
}

export function portalOperations(): ContractOperation[] {
  const text = readFileSync(join(projectFolder, 'test/contract/operations.json'), 'utf8');
  const { operations } = JSON.parse(text) as { readonly operations: readonly ContractOperation[] };
  return operations.filter(({ area }) => area !== 'gateway');
}
