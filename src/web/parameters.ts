import { type ArgumentMetadata, Param, type PipeTransform, Query } from '@nestjs/common';
import { type Field, line, Misfit, rowId, validationFault } from '../kernel';

/** Takes one parameter of a path or a query, which its field reads. */
export class ParameterPipe implements PipeTransform {
  constructor(
    private readonly name: string,
    readonly field: Field<unknown>,
  ) {}

  transform(given: unknown, { type: place }: Pick<ArgumentMetadata, 'type'>): unknown {
    const value = this.field.read(given);
    if (!(value instanceof Misfit)) return value;
    const { type, msg } = value;
    throw validationFault([
      { loc: [place === 'query' ? 'query' : 'path', this.name], msg: `${this.name} ${msg}`, type },
    ]);
  }
}

const ofPath =
  (field: Field<unknown>) =>
  (name: string): ParameterDecorator =>
    Param(name, new ParameterPipe(name, field));

/** The number of a row, in a path. */
export const PathId = ofPath(rowId);

const LONGEST_NAME = 256;
const LONGEST_TOKEN = 100;
const LONGEST_TEXT = 4_096;

/** A name in a path: of a model, an alias, a request. */
export const PathText = ofPath(line(LONGEST_NAME));

/** The token of a link, in a path. */
export const PathToken = ofPath(line(LONGEST_TOKEN));

/** A text of a query whose other parameters are another's, as those of an identity provider. */
export const QueryText = (name: string): ParameterDecorator =>
  Query(name, new ParameterPipe(name, line(LONGEST_TEXT).default('')));
