import type { Reader } from './readers';

export interface SettingOptions {
  /** The variable's name in the environment; the same with `_FILE` names a file that holds the value. */
  readonly name: string;
  readonly group: string;
  readonly describe: string;
  readonly as: Reader<unknown>;
  /** Written as it would stand in the environment, and read the same way. */
  readonly default?: string;
  /** This happens when it is unset and `default` cannot say it. */
  readonly unset?: string;
  /** It is never shown: neither in a fault nor in the table of effective settings. */
  readonly secret?: boolean;
}

export interface SettingMetadata extends SettingOptions {
  readonly property: string;
}

const registry: SettingMetadata[] = [];

/** Every declared setting, in the order of the class. */
export const declaredSettings: readonly SettingMetadata[] = registry;

/** Stands where a value could not be read, which is told with all other faults. */
export const unreadable = Symbol('unreadable');

export const Setting =
  (options: SettingOptions): PropertyDecorator =>
  (_target, key) =>
    void registry.push({ ...options, property: String(key) });
