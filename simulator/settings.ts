import { vendorModel } from './vendors';

/** Listening addresses and model behaviour of a simulator; every field has a default. */
export interface SimulatorOptions {
  /** Name in records and in the `x-sim-name` header. */
  readonly name?: string;
  readonly region?: string;
  readonly host?: string;
  readonly port?: number;
  readonly controlPort?: number;
  /** Additional listening ports, one lane each. */
  readonly lanes?: readonly LaneOptions[];
  /** A model exists if its name starts with this prefix; '' accepts every name. */
  readonly modelPrefix?: string;
  /** Context window of models whose name has none (`sim-8k` has 8,000). */
  readonly contextTokens?: number;
  /** Number of requests stored in full. */
  readonly ringSize?: number;
  /** Seeds `probability` and `untilMs`. */
  readonly seed?: number;
  /** `lenient` allows consecutive Messages turns with the same role. */
  readonly roles?: 'strict' | 'lenient';
  /** `lenient` serves models of real vendors without their vendors' rules. */
  readonly vendors?: VendorRules;
  /** Account whose reasoning is accepted back; without one, anyone's is. */
  readonly account?: string;
}

export type VendorRules = 'strict' | 'lenient';

export interface LaneOptions {
  readonly name: string;
  readonly region: string;
  readonly port?: number;
}

export interface Settings {
  readonly modelPrefix: string;
  readonly contextTokens: number;
  readonly strictRoles: boolean;
  readonly account: string;
}

export function settingsOf(options: SimulatorOptions): Settings {
  return {
    modelPrefix: options.modelPrefix ?? 'sim-',
    contextTokens: options.contextTokens ?? 200_000,
    strictRoles: options.roles !== 'lenient',
    account: options.account ?? '',
  };
}

export function modelExists(model: string, settings: Settings): boolean {
  return (model !== '' && model.startsWith(settings.modelPrefix)) || vendorModel(model) !== undefined;
}

export function contextOf(model: string, settings: Settings): number {
  const thousands = /-(\d+)k(?:-|$)/.exec(model)?.[1];
  return thousands === undefined ? settings.contextTokens : Number(thousands) * 1000;
}

/** Models that always reason, and show it in the OpenAI style. */
export function isReasoningModel(model: string): boolean {
  return model.includes('reason');
}

/** Constant `created` value, so that equal requests have byte-identical responses. */
export const createdAt = 1_767_225_600;
