import { decimal, type InputField, FieldError, integer } from '../../kernel';

export const parameterFields = {
  first: integer(1, 100),
  second: integer(1, 100),
  third: integer(1, 100),
  percent: integer(1, 100),
  seconds: integer(1, 600),
  minutes: integer(1, 1_440),
  hours: integer(1, 720),
  days: integer(1, 90),
  times: decimal(1.5, 100),
  dollars: decimal(0, 1_000_000),
} as const satisfies Readonly<Record<string, InputField<number>>>;

export type ParameterName = keyof typeof parameterFields;
export const parameterNames = Object.keys(parameterFields) as ParameterName[];

export type AlertParameters = Readonly<Partial<Record<ParameterName, number>>>;

/**
 * Merges a rule's parameters into the defaults; values that are out of range here, written by a newer version, are
 * ignored.
 */
export const withDefaults = (
  defaults: AlertParameters,
  overrides: Readonly<Record<string, unknown>>,
): AlertParameters =>
  Object.fromEntries(
    Object.entries(defaults).map(([name, value]) => {
      const result = parameterFields[name as ParameterName].read(overrides[name] ?? value);
      return [name, result instanceof FieldError ? value : result];
    }),
  );
