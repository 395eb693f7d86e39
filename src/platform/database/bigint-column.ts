import { Column, type ColumnOptions, type ValueTransformer } from 'typeorm';

/** The driver reads int8 as text, since a number could not hold it. */
const bigintTransformer: ValueTransformer = {
  from: (stored: string | null) => (stored === null ? null : BigInt(stored)),
  to: (value: unknown) => (typeof value === 'bigint' ? value.toString() : value),
};

/** An int8 column that code sees as bigint. */
export function BigintColumn(options: ColumnOptions = {}): PropertyDecorator {
  return Column({ ...options, type: 'bigint', transformer: bigintTransformer });
}
