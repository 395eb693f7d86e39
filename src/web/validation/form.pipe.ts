import { type ArgumentMetadata, Injectable, Optional, type PipeTransform } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import {
  getMetadataStorage,
  IS_OPTIONAL,
  type ValidationError,
  Validator,
  type ValidatorOptions,
} from 'class-validator';
import { FieldError, validationFault, type ValidationIssue } from '../../kernel';
import { fieldsOf } from './parsed-by.decorator';
import { allowsOtherProperties } from './presence.decorators';

const locationNames: Readonly<Record<ArgumentMetadata['type'], string>> = {
  body: 'body',
  query: 'query',
  param: 'path',
  custom: 'custom',
};

const validator = new Validator();

interface FormPipeOptions {
  /**
   * Ignores query parameters that campaigns and email clients add to links of pages; requests for JSON report them.
   */
  readonly isPage?: boolean;
}

/**
 * Converts parameters and forms to their class, or throws a 422 with every invalid field. A blank optional field counts
 * as absent if its rules reject blanks; otherwise the blank is validated as a value.
 */
@Injectable()
export class FormPipe implements PipeTransform {
  constructor(@Optional() private readonly options: FormPipeOptions = {}) {}

  async transform(value: unknown, { metatype, type }: ArgumentMetadata): Promise<unknown> {
    if (metatype === undefined || primitives.has(metatype)) return value;
    const input = isRecord(value) ? { ...value } : {};
    const takesUnknown = allowsOtherProperties(metatype) || this.ignoresUnknown(input, type);
    const rules = rulesFor(takesUnknown);
    let form = formOf(metatype, input);
    // Path parameters are validated synchronously, so that their errors precede those of a body.
    let errors =
      type === 'param' ? validator.validateSync(form, rules) : await validator.validate(form, rules);
    const blank = errors.flatMap(({ property }) => (isBlank(input[property]) ? [property] : []));
    const optional =
      blank.length === 0 ? [] : optionalFieldsOf(metatype).filter((field) => blank.includes(field));
    if (optional.length > 0) {
      for (const field of optional) Reflect.deleteProperty(input, field);
      form = formOf(metatype, input);
      errors = await validator.validate(form, rules);
    }
    if (errors.length > 0)
      throw validationFault(errors.flatMap((error) => issuesOf(error, [locationNames[type]])));
    for (const [name, field] of fieldsOf(metatype)) {
      const defaultValue = field.read(undefined);
      if (defaultValue !== undefined && !(defaultValue instanceof FieldError))
        (form as Record<string, unknown>)[name] ??= defaultValue;
    }
    return form;
  }

  private ignoresUnknown(input: { format?: unknown }, type: ArgumentMetadata['type']): boolean {
    return this.options.isPage === true && type === 'query' && input.format !== 'json';
  }
}

function formOf(metatype: FormClass, input: object) {
  return plainToInstance(metatype, input, { exposeDefaultValues: true }) as object;
}

const rulesFor = (takesUnknown: boolean): ValidatorOptions => ({
  whitelist: true,
  forbidNonWhitelisted: !takesUnknown,
  forbidUnknownValues: true,
});

type FormClass = NonNullable<ArgumentMetadata['metatype']>;

/** Browsers send blank fields as empty text. */
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
  if (error.value instanceof FieldError) return [fieldIssue(loc, error.property, error.value)];
  if (error.constraints?.takes !== undefined)
    return [fieldIssue(loc, error.property, new FieldError('missing', 'is missing'))];
  const ownIssues = Object.entries(error.constraints ?? {}).map(([type, msg]) => ({ loc, msg, type }));
  return [...ownIssues, ...(error.children ?? []).flatMap((child) => issuesOf(child, loc))];
}

const fieldIssue = (loc: (string | number)[], name: string, { type, msg }: FieldError): ValidationIssue => ({
  loc,
  msg: `${name} ${msg}`,
  type,
});
