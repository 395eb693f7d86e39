import { vendorModel } from './vendors';

/** The options say where a simulator listens and what it believes about models; every field has a default. */
export interface SimulatorOptions {
  /** Shown in records and in the `x-sim-name` header. */
  readonly name?: string;
  readonly region?: string;
  readonly host?: string;
  readonly port?: number;
  readonly controlPort?: number;
  /** Further listening ports, each its own lane. */
  readonly lanes?: readonly LaneOptions[];
  /** A model exists when its name begins with this; '' accepts every name. */
  readonly modelPrefix?: string;
  /** Context window of models whose name does not say one (`sim-8k` has 8,000). */
  readonly contextTokens?: number;
  /** So many requests are remembered in full. */
  readonly ringSize?: number;
  /** Seeds `probability` and `untilMs`. */
  readonly seed?: number;
  /** `lenient` lets a messages conversation repeat a role. */
  readonly roles?: 'strict' | 'lenient';
  /** `lenient` serves models of real vendors without their vendors' rules. */
  readonly vendors?: VendorRules;
  /** It takes back reasoning of this account; without one, that of everyone. */
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

/** Models that show their reasoning on the OpenAI-style surface, and always reason. */
export function reasons(model: string): boolean {
  return model.includes('reason');
}

/** One instant for every `created` field: the same request has the same answer, to the byte. */
export const createdAt = 1_767_225_600;
