import { applyDecorators } from '@nestjs/common';
import { IsOptional, IsString, MaxLength } from 'class-validator';

/** The words that a list is searched for. */
export const IsFilterText = (): PropertyDecorator =>
  applyDecorators(IsOptional(), IsString(), MaxLength(200));

/** The position of a page in a list, as the page before it gave it. */
export const IsCursor = (): PropertyDecorator => applyDecorators(IsOptional(), IsString(), MaxLength(1_000));
