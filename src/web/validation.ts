import { type ArgumentMetadata, Injectable, type PipeTransform } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { Misfit, type Schema, validationFault, type ValidationIssue } from '../kernel';
import {
  fieldsOf,
  getMetadataStorage,
  IS_OPTIONAL,
  ValidateIf,
  type ValidationError,
  Validator,
  type ValidatorOptions,
} from '../platform';

const places: Readonly<Record<ArgumentMetadata['type'], string>> = {
  body: 'body',
  query: 'query',
  param: 'path',
  custom: 'custom',
};

/** May be left out. Unlike an optional field it cannot be null, which would otherwise reach its column. */
export const IfGiven = (): PropertyDecorator =>
  ValidateIf((_form: object, value: unknown) => value !== undefined);

const validator = new Validator();

type OtherProperties = Pick<Schema, 'additionalProperties' | 'patternProperties'>;

const otherProperties = new WeakMap<object, OtherProperties>();

/** Further properties of such a form are left out instead of refused; `patterns` describes those that are read. */
export const TakesOthers =
  (patterns?: Readonly<Record<string, Schema>>): ClassDecorator =>
  (form) =>
    void otherProperties.set(
      form,
      patterns === undefined
        ? { additionalProperties: true }
        : { patternProperties: patterns, additionalProperties: false },
    );

export const otherPropertiesOf = (form: object): OtherProperties =>
  otherProperties.get(form) ?? { additionalProperties: false };

/**
 * Parameters and forms become their class, or a 422 that names every field at fault. An optional field is
 * left out where it is blank and its rules refuse a blank. Where a blank has a meaning of its own, it keeps
 * it.
 */
@Injectable()
export class FormPipe implements PipeTransform {
  async transform(value: unknown, { metatype, type }: ArgumentMetadata): Promise<unknown> {
    if (metatype === undefined || primitives.has(metatype)) return value;
    const given = isRecord(value) ? { ...value } : {};
    const takesUnknown = otherProperties.has(metatype) || this.takesUnknown(given, type);
    const rules = rulesFor(takesUnknown);
    let form = formOf(metatype, given);
    // A path is checked at once, so that its fault is told before those of a body.
    let errors =
      type === 'param' ? validator.validateSync(form, rules) : await validator.validate(form, rules);
    const blank = errors.flatMap(({ property }) => (isBlank(given[property]) ? [property] : []));
    const optional =
      blank.length === 0 ? [] : optionalFieldsOf(metatype).filter((field) => blank.includes(field));
    if (optional.length > 0) {
      for (const field of optional) Reflect.deleteProperty(given, field);
      form = formOf(metatype, given);
      errors = await validator.validate(form, rules);
    }
    if (errors.length > 0) throw validationFault(errors.flatMap((error) => issuesOf(error, [places[type]])));
    for (const [name, field] of fieldsOf(metatype)) {
      const usual = field.read(undefined);
      if (usual !== undefined && !(usual instanceof Misfit))
        (form as Record<string, unknown>)[name] ??= usual;
    }
    return form;
  }

  protected takesUnknown(_given: object, _type: ArgumentMetadata['type']): boolean {
    return false;
  }
}

/** A link to a page works with what campaigns and mail programs add to it; programs that ask for its data are told. */
@Injectable()
export class PagePipe extends FormPipe {
  protected override takesUnknown(given: { format?: unknown }, type: ArgumentMetadata['type']): boolean {
    return type === 'query' && given.format !== 'json';
  }
}

function formOf(metatype: FormClass, given: object) {
  return plainToInstance(metatype, given, { exposeDefaultValues: true }) as object;
}

const rulesFor = (takesUnknown: boolean): ValidatorOptions => ({
  whitelist: true,
  forbidNonWhitelisted: !takesUnknown,
  forbidUnknownValues: true,
});

type FormClass = NonNullable<ArgumentMetadata['metatype']>;

/** Browsers send a field that was left empty as an empty text. */
const isBlank = (value: unknown): boolean => typeof value === 'string' && value.trim() === '';

const optionalFieldsOf = (metatype: FormClass): string[] =>
  getMetadataStorage()
    .getTargetValidationMetadatas(metatype, '', false, false)
    .filter(({ name }) => name === IS_OPTIONAL)
    .map(({ propertyName }) => propertyName);

const primitives = new Set<unknown>([String, Number, Boolean, Array, Object, Promise]);

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

function issuesOf(error: ValidationError, parent: (string | number)[]): ValidationIssue[] {
  const loc = [...parent, error.property];
  if (error.value instanceof Misfit) return [misfitAt(loc, error.property, error.value)];
  if (error.constraints?.takes !== undefined)
    return [misfitAt(loc, error.property, new Misfit('missing', 'is missing'))];
  const own = Object.entries(error.constraints ?? {}).map(([type, msg]) => ({ loc, msg, type }));
  return [...own, ...(error.children ?? []).flatMap((child) => issuesOf(child, loc))];
}

const misfitAt = (loc: (string | number)[], name: string, { type, msg }: Misfit): ValidationIssue => ({
  loc,
  msg: `${name} ${msg}`,
  type,
});
