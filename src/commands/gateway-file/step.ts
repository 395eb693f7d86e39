import type { Tx } from '../../platform';
import type { FieldChange } from './field-texts';
import type { Place } from './file-fault';

type Mark = 'new' | 'changed' | 'gone';

/** One difference between file and catalogue, and how to do away with it. */
export interface Step {
  readonly at: Place;
  /** What a person is shown: `model gpt-large`. */
  readonly what: string;
  readonly mark: Mark;
  readonly changes: readonly FieldChange[];
  /** What has to be there first; where that failed, this one is not tried. */
  readonly needs: readonly string[];
  run(tx: Tx): Promise<unknown>;
}

export interface Plan {
  readonly steps: readonly Step[];
  /** Kept by a file once, and in this one no longer: the steps that would put it away. */
  readonly gone: readonly Step[];
  /** What is allowed and most likely not meant. */
  readonly warnings: readonly string[];
}

export const providerNamed = (name: string): string => `provider ${name}`;
export const modelNamed = (name: string): string => `model ${name}`;
