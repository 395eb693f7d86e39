import { Column, type ColumnOptions, type ValueTransformer } from 'typeorm';
import { normaliseRegion, normaliseRegions } from '../../kernel';

/** Rows can be older than the normalised spelling of regions, so they are also normalised when read. */
const transformBothWays = (change: (value: unknown) => unknown): ValueTransformer => ({
  to: change,
  from: change,
});
const regionTransformer = transformBothWays((value) =>
  typeof value === 'string' ? normaliseRegion(value) : value,
);
const regionsTransformer = transformBothWays((value) =>
  Array.isArray(value) ? normaliseRegions(value as string[]) : value,
);

export const RegionColumn = (): PropertyDecorator => Column('text', { transformer: regionTransformer });

export const RegionsColumn = (options: ColumnOptions): PropertyDecorator =>
  Column({ ...options, type: 'text', array: true, transformer: regionsTransformer });
