import { Transform } from 'class-transformer';
import { IsOptional } from 'class-validator';

/** A form sends the fields that were left empty, too: they stand for nothing. */
export const Given =
  (...rules: readonly PropertyDecorator[]): PropertyDecorator =>
  (target, name) => {
    const blank = Transform(({ value }: { value: unknown }) => (value === '' ? undefined : value));
    for (const rule of [IsOptional(), blank, ...rules]) rule(target, name);
  };
