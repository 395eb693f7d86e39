import type { RouterAlgorithm } from '../engine';

/** The settings of `auto` at one level. A missing setting is inherited from the wider level. */
export interface AutoSettings {
  readonly mode?: AutoMode;
  readonly algorithm?: RouterAlgorithm;
  /** From quality only (0) to cost only (10). */
  readonly dial?: number;
  readonly reference_model?: string;
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
  /** From 0 to 1; a model that might score lower is not chosen. */
  readonly min_quality?: number;
  /** In US dollars, as a decimal. */
  readonly max_cost_per_request?: string;
  readonly latency_target_ms?: number;
  readonly stickiness?: boolean;
  readonly stickiness_minutes?: number;
  readonly fallback_model?: string;
  /** Narrower levels cannot override choices; their limits still tighten. */
  readonly locked?: boolean;
}

export const autoModes = ['off', 'shadow', 'on'] as const;
type AutoMode = (typeof autoModes)[number];

/** From the widest to the narrowest. */
export const autoLevels = ['platform', 'organisation', 'user', 'key'] as const;
export type AutoLevel = (typeof autoLevels)[number];

export type AutoLevels = Readonly<Partial<Record<AutoLevel, AutoSettings>>>;

type DefaultedSetting = 'mode' | 'algorithm' | 'dial' | 'stickiness' | 'stickiness_minutes';

export const defaultAutoSettings = {
  mode: 'shadow',
  algorithm: 'hkb-v1',
  dial: 5,
  stickiness: true,
  stickiness_minutes: 60,
} as const satisfies Required<Pick<AutoSettings, DefaultedSetting>>;

type InheritedSetting = 'reference_model' | 'fallback_model' | 'latency_target_ms';

export interface EffectiveAutoPolicy
  extends
    Required<Pick<AutoSettings, DefaultedSetting>>,
    Pick<AutoSettings, InheritedSetting | 'min_quality' | 'max_cost_per_request'> {
  /** The lists of every level that has one: a model must be on all of them. */
  readonly includes: readonly (readonly string[])[];
  readonly excludes: readonly string[];
  readonly level: AutoLevel | 'usual';
  /** The level whose choices narrower ones cannot override; null if there is none. */
  readonly lockedBy: AutoLevel | null;
  readonly sources: Readonly<Partial<Record<keyof AutoSettings, AutoLevel>>>;
}
