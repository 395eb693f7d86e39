import type { SettingReader } from './readers';

export interface SettingOptions {
  /** Name of the environment variable; with `_FILE` appended, of a file that holds the value. */
  readonly name: string;
  readonly group: string;
  readonly describe: string;
  readonly as: SettingReader<unknown>;
  /** Text as in the environment, parsed the same way. */
  readonly default?: string;
  /** Behaviour when unset, if `default` cannot express it. */
  readonly unset?: string;
  /** Never shown, neither in errors nor in the table of effective settings. */
  readonly secret?: boolean;
}

export interface SettingMetadata extends SettingOptions {
  readonly property: string;
}

const registry: SettingMetadata[] = [];

/** Every declared setting, in the order of the class. */
export const declaredSettings: readonly SettingMetadata[] = registry;

/** Stands for a value that could not be read, which is reported with all other issues. */
export const unreadable = Symbol('unreadable');

export const Setting =
  (options: SettingOptions): PropertyDecorator =>
  (_target, key) =>
    void registry.push({ ...options, property: String(key) });
