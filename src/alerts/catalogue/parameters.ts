import { decimal, type Field, Misfit, whole } from '../../kernel';

/** What a rule may set, with its bounds: the same for every kind of alert. */
export const parameterFields = {
  first: whole(1, 100),
  second: whole(1, 100),
  third: whole(1, 100),
  percent: whole(1, 100),
  seconds: whole(1, 600),
  minutes: whole(1, 1_440),
  hours: whole(1, 720),
  days: whole(1, 90),
  times: decimal(1.5, 100),
  dollars: decimal(0, 1_000_000),
} as const satisfies Readonly<Record<string, Field<number>>>;

export type ParameterName = keyof typeof parameterFields;
export const parameterNames = Object.keys(parameterFields) as ParameterName[];

export type Parameters = Readonly<Partial<Record<ParameterName, number>>>;

/** The usual values with those of a rule; one that a newer version wrote and this one does not take is left out. */
export const withUsual = (usual: Parameters, set: Readonly<Record<string, unknown>>): Parameters =>
  Object.fromEntries(
    Object.entries(usual).map(([name, value]) => {
      const read = parameterFields[name as ParameterName].read(set[name] ?? value);
      return [name, read instanceof Misfit ? value : read];
    }),
  );
