import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectFolder } from '../../src/views';

/** A parameter as the contract tells of it, not as the service does. */
export interface ContractParameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly type: 'integer' | 'string' | 'day' | 'choice' | 'zone';
  readonly required: boolean;
}

export interface ContractOperation {
  readonly method: string;
  readonly path: string;
  readonly area: string;
  readonly auth: string;
  readonly parameters?: readonly ContractParameter[];
}

/** The operations of the portal. */
export function portalOperations(): ContractOperation[] {
  const text = readFileSync(join(projectFolder, 'test/contract/operations.json'), 'utf8');
  const { operations } = JSON.parse(text) as { readonly operations: readonly ContractOperation[] };
  return operations.filter(({ area }) => area !== 'gateway');
}
