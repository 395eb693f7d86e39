import { Injectable } from '@nestjs/common';
import { fromUnknown, type JsonFields } from '../../kernel';
import type { Caller } from '../../keys';
import type { AutoTrace, Call } from '../intake';
import type { Admission } from './admission';

/** The model that was chosen for a request, and its stand-ins. */
export interface ChosenRoute extends AutoTrace {
  readonly admission: Admission;
  answered(model: string): void;
  /** Another model stands in; null where this route may not ask it. */
  instead(other: Admission): Admission | null;
  /** The next stand-in; null when there is none. */
  next(): Admission | null;
}

/** Chooses models for requests that leave it to the service. */
export interface ModelChooser {
  /** It is null where the catalogue has a model of this name. */
  choose(call: Call): Promise<ChosenRoute | null>;

  /** Itself as a model of the list; null where the caller cannot ask for it. */
  modelFor(caller: Caller): Promise<JsonFields | null>;
}

/** Automatic choice registers itself here. Without it, the reference model answers for `auto`. */
@Injectable()
export class RegisteredChooser {
  private chooser: ModelChooser | null = null;

  register(chooser: ModelChooser): void {
    this.chooser = chooser;
  }

  choose(call: Call): Promise<ChosenRoute | null> | null {
    return this.chooser?.choose(call) ?? null;
  }

  modelFor(caller: Caller): Promise<JsonFields | null> | null {
    return this.chooser?.modelFor(caller) ?? null;
  }
}

/** Where the model that was chosen fails or cannot be asked, before its answer began, the next one is tried. */
export function standIn(chosen: ChosenRoute, error: unknown): Admission | null {
  const { status, code } = fromUnknown(error);
  // A translation refuses before anything is sent: another model may need none.
  const isUntranslatable = code === 'unsupported_parameter';
  return status >= 500 || code === 'supplier_limit' || isUntranslatable ? chosen.next() : null;
}
