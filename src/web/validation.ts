import { type ArgumentMetadata, Injectable, type PipeTransform } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { validate, ValidateIf, type ValidationError } from 'class-validator';
import { validationFault, type ValidationIssue } from '../kernel';

const places: Readonly<Record<ArgumentMetadata['type'], string>> = {
  body: 'body',
  query: 'query',
  param: 'path',
  custom: 'custom',
};

/** May be left out. Unlike an optional field it cannot be null, which would otherwise reach its column. */
export const IfGiven = (): PropertyDecorator =>
  ValidateIf((_form: object, value: unknown) => value !== undefined);

/** Parameters and forms become their class, or a 422 that names every field at fault. */
@Injectable()
export class FormPipe implements PipeTransform {
  async transform(value: unknown, { metatype, type }: ArgumentMetadata): Promise<unknown> {
    if (metatype === undefined || primitives.has(metatype)) return value;
    const form = plainToInstance(metatype, isRecord(value) ? { ...value } : {}, {
      exposeDefaultValues: true,
    }) as object;
    const errors = await validate(form, {
      whitelist: true,
      forbidNonWhitelisted: true,
      forbidUnknownValues: true,
    });
    if (errors.length > 0) throw validationFault(errors.flatMap((error) => issuesOf(error, [places[type]])));
    return form;
  }
}

const primitives = new Set<unknown>([String, Number, Boolean, Array, Object, Promise]);

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

function issuesOf(error: ValidationError, parent: (string | number)[]): ValidationIssue[] {
  const loc = [...parent, error.property];
  const own = Object.entries(error.constraints ?? {}).map(([type, msg]) => ({ loc, msg, type }));
  return [...own, ...(error.children ?? []).flatMap((child) => issuesOf(child, loc))];
}
