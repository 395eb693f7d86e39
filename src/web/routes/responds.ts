import { SetMetadata } from '@nestjs/common';
import type { Schema } from '../../kernel';

export const respondsMetadata = 'switchboard:responds';

/** Responses of a handler that its kind of route does not imply, for the description of the API. */
export interface DescribedResponses {
  /** Bodies of status 200, by media type. */
  readonly content?: Readonly<Record<string, Schema>>;
  /** Status of a redirect that is sent instead of the body in some cases. */
  readonly redirect?: 302 | 303;
}

export const Responds = (responses: DescribedResponses): MethodDecorator =>
  SetMetadata(respondsMetadata, responses);

/** Schema of `{ok: true}` with further properties. */
export const okWith = (properties: Readonly<Record<string, Schema>>): Schema => ({
  type: 'object',
  properties: { ok: { const: true }, ...properties },
  required: ['ok', ...Object.keys(properties)],
});
