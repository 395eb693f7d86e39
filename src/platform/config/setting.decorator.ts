import { Transform } from 'class-transformer';
import { IsOptional, ValidateBy } from 'class-validator';
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

/** Stands where a value could not be read, so that class-validator reports it with all the others. */
const unreadable = Symbol('unreadable');

export function Setting(options: SettingOptions): PropertyDecorator {
  return (target, key) => {
    const property = String(key);
    registry.push({ ...options, property });
    Transform(({ value }: { value: unknown }) =>
      typeof value === 'string' ? (options.as.read(value) ?? unreadable) : value,
    )(target, property);
    IsOptional()(target, property);
    ValidateBy({
      name: 'setting',
      validator: {
        validate: (value: unknown) => value !== unreadable,
        defaultMessage: () => `expected ${options.as.expects}`,
      },
    })(target, property);
  };
}
