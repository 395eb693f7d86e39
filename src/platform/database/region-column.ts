import { Column, type ColumnOptions, type ValueTransformer } from 'typeorm';
import { regionNamed, regionsNamed } from '../../kernel';

/** Rows may be older than the one spelling of regions, so they are mended when they are read, too. */
const both = (change: (value: unknown) => unknown): ValueTransformer => ({ to: change, from: change });
const one = both((value) => (typeof value === 'string' ? regionNamed(value) : value));
const several = both((value) => (Array.isArray(value) ? regionsNamed(value as string[]) : value));

/** A text column that holds the name of a region. */
export const RegionColumn = (): PropertyDecorator => Column('text', { transformer: one });

/** A column with a list of them. */
export const RegionsColumn = (options: ColumnOptions): PropertyDecorator =>
  Column({ ...options, type: 'text', array: true, transformer: several });
