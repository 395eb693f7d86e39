import { type ArgumentMetadata, Param, type PipeTransform, Query } from '@nestjs/common';
import { type InputField, line, FieldError, rowId, validationFault } from '../kernel';

export class ParameterPipe implements PipeTransform {
  constructor(
    private readonly name: string,
    readonly field: InputField<unknown>,
  ) {}

  transform(input: unknown, { type: source }: Pick<ArgumentMetadata, 'type'>): unknown {
    const value = this.field.read(input);
    if (!(value instanceof FieldError)) return value;
    const { type, msg } = value;
    throw validationFault([
      { loc: [source === 'query' ? 'query' : 'path', this.name], msg: `${this.name} ${msg}`, type },
    ]);
  }
}

const pathParameter =
  (field: InputField<unknown>) =>
  (name: string): ParameterDecorator =>
    Param(name, new ParameterPipe(name, field));

export const PathId = pathParameter(rowId);

const MAX_NAME_LENGTH = 256;
const MAX_TOKEN_LENGTH = 100;
const MAX_TEXT_LENGTH = 4_096;

export const PathText = pathParameter(line(MAX_NAME_LENGTH));

export const PathToken = pathParameter(line(MAX_TOKEN_LENGTH));

/** Text of a query whose other parameters are defined by a third party, such as an identity provider. */
export const QueryText = (name: string): ParameterDecorator =>
  Query(name, new ParameterPipe(name, line(MAX_TEXT_LENGTH).default('')));
