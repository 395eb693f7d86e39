import type { Tx } from '../../platform';
import type { FieldChange } from './field-texts';
import type { Place } from './gateway-file/file-fault';

export type PlanKind = 'provider' | 'model' | 'alias' | 'organisation' | 'key';
export type PlanMark = 'new' | 'changed' | 'gone';

/** One difference between what is wanted and the catalogue, and how to do away with it. */
export interface Step {
  readonly at: Place;
  readonly kind: PlanKind;
  readonly name: string;
  readonly mark: PlanMark;
  readonly changes: readonly FieldChange[];
  /** These have to be there first; where one failed, this step is not tried. */
  readonly needs: readonly string[];
  run(tx: Tx): Promise<unknown>;
}

export interface Steps {
  readonly steps: readonly Step[];
  /** A file kept these once, and this one does no longer: these steps would put it away. */
  readonly gone: readonly Step[];
  /** A warning is about something that is allowed and most likely not meant. */
  readonly warnings: readonly string[];
}

/** It reads like `model gpt-large`. */
export const nameOf = ({ kind, name }: Pick<Step, 'kind' | 'name'>): string => `${kind} ${name}`;
export const providerNamed = (name: string): string => nameOf({ kind: 'provider', name });
export const modelNamed = (name: string): string => nameOf({ kind: 'model', name });
