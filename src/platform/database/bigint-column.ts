import { Column, type ColumnOptions, type ValueTransformer } from 'typeorm';

/** The driver returns int8 as text, since a number cannot hold every value. */
const bigintTransformer: ValueTransformer = {
  from: (stored: string | null) => (stored === null ? null : BigInt(stored)),
  to: (value: unknown) => (typeof value === 'bigint' ? value.toString() : value),
};

export function BigintColumn(options: ColumnOptions = {}): PropertyDecorator {
  return Column({ ...options, type: 'bigint', transformer: bigintTransformer });
}
