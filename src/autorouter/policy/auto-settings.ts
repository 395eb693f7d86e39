import type { RouterAlgorithm } from '../engine';

/** The settings of `auto` at one level. A level that leaves a setting out takes that of the wider level. */
export interface AutoSettings {
  readonly mode?: AutoMode;
  readonly algorithm?: RouterAlgorithm;
  /** It goes from nothing but quality, 0, to nothing but cost, 10. */
  readonly dial?: number;
  readonly reference_model?: string;
  /** Only a model that one of these patterns names may be picked. */
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
  /** It lies between 0 and 1: a model whose expected quality may lie below is not picked. */
  readonly min_quality?: number;
  /** It is in US dollars, as a decimal. */
  readonly max_cost_per_request?: string;
  readonly latency_target_ms?: number;
  readonly stickiness?: boolean;
  readonly stickiness_minutes?: number;
  /** Answers where nothing can be chosen. */
  readonly fallback_model?: string;
  /** Narrower levels may not choose otherwise; their limits still tighten. */
  readonly locked?: boolean;
}

export const autoModes = ['off', 'shadow', 'on'] as const;
type AutoMode = (typeof autoModes)[number];

/** They go from the widest to the narrowest. */
export const autoLevels = ['platform', 'organisation', 'user', 'key'] as const;
export type AutoLevel = (typeof autoLevels)[number];

export type AutoLevels = Readonly<Partial<Record<AutoLevel, AutoSettings>>>;

type Chosen = 'mode' | 'algorithm' | 'dial' | 'stickiness' | 'stickiness_minutes';

/** These settings count where no level says anything. */
export const usualAutoSettings = {
  mode: 'shadow',
  algorithm: 'hkb-v1',
  dial: 5,
  stickiness: true,
  stickiness_minutes: 60,
} as const satisfies Required<Pick<AutoSettings, Chosen>>;

type Named = 'reference_model' | 'fallback_model' | 'latency_target_ms';

/** The policy of one caller takes every level together. */
export interface EffectiveAutoPolicy
  extends
    Required<Pick<AutoSettings, Chosen>>,
    Pick<AutoSettings, Named | 'min_quality' | 'max_cost_per_request'> {
  /** Each level that names any has its list here: a model has to be on all of them. */
  readonly includes: readonly (readonly string[])[];
  readonly excludes: readonly string[];
  /** The narrowest level that has a say. */
  readonly level: AutoLevel | 'usual';
  /** The level from which narrower ones may not differ; null when there is none. */
  readonly lockedBy: AutoLevel | null;
  /** Each choice comes from the level named here. */
  readonly sources: Readonly<Partial<Record<keyof AutoSettings, AutoLevel>>>;
}
