import type { Tx } from '../../platform';
import type { CatalogueEditor } from '../catalogue-editor.service';
import type { PriceService } from '../price.service';
import type { FieldChange } from './field-texts';
import type { FilePosition } from './gateway-file/file-fault';

/** Services that steps change the catalogue with. */
export interface StepServices {
  readonly editor: CatalogueEditor;
  readonly prices: PriceService;
}

export type PlanKind = 'provider' | 'model' | 'alias' | 'organisation' | 'key';
export type PlanMark = 'new' | 'changed' | 'gone';

/** A difference between the desired and the current catalogue, and the change that resolves it. */
export interface Step {
  readonly at: FilePosition;
  readonly kind: PlanKind;
  readonly name: string;
  readonly mark: PlanMark;
  readonly changes: readonly FieldChange[];
  /** Objects that must exist first; the step is skipped if one of them failed. */
  readonly needs: readonly string[];
  run(tx: Tx, services: StepServices): Promise<unknown>;
}

export interface Steps {
  readonly steps: readonly Step[];
  readonly gone: readonly Step[];
  readonly warnings: readonly string[];
}

/** Reads like `model gpt-large`. */
export const stepLabel = ({ kind, name }: Pick<Step, 'kind' | 'name'>): string => `${kind} ${name}`;
export const providerLabel = (name: string): string => stepLabel({ kind: 'provider', name });
export const modelLabel = (name: string): string => stepLabel({ kind: 'model', name });
