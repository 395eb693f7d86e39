import { Injectable } from '@nestjs/common';
import { fromUnknown, type JsonFields } from '../../kernel';
import type { Caller } from '../../keys';
import type { AutoTrace, GatewayCall } from '../intake';
import type { Admission } from './admission';

export interface ChosenRoute extends AutoTrace {
  readonly admission: Admission;
  recordAnswer(model: string): void;
  /** Switches to another model; null if this route is not allowed to call it. */
  switchTo(other: Admission): Admission | null;
  next(): Admission | null;
}

export interface ModelChooser {
  /** Null if the catalogue has a model of this name. */
  choose(call: GatewayCall): Promise<ChosenRoute | null>;

  /** The `auto` entry of the model list; null if the caller cannot use it. */
  modelFor(caller: Caller): Promise<JsonFields | null>;
}

/** Automatic choice registers here. Without it, the default model answers for `auto`. */
@Injectable()
export class RegisteredChooser {
  private chooser: ModelChooser | null = null;

  register(chooser: ModelChooser): void {
    this.chooser = chooser;
  }

  choose(call: GatewayCall): Promise<ChosenRoute | null> | null {
    return this.chooser?.choose(call) ?? null;
  }

  modelFor(caller: Caller): Promise<JsonFields | null> | null {
    return this.chooser?.modelFor(caller) ?? null;
  }
}

/** Returns the next stand-in if the chosen model fails or cannot be called before its response started. */
export function nextStandIn(chosen: ChosenRoute, error: unknown): Admission | null {
  const { status, code } = fromUnknown(error);
  // A conversion refuses before anything is sent: another model might need none.
  const isUntranslatable = code === 'unsupported_parameter';
  return status >= 500 || code === 'supplier_limit' || isUntranslatable ? chosen.next() : null;
}
