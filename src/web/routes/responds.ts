import { SetMetadata } from '@nestjs/common';
import type { JsonSchema } from '../../kernel';

export const respondsMetadata = 'switchboard:responds';

export interface DescribedResponses {
  /** Bodies of status 200 by media type. */
  readonly content?: Readonly<Record<string, JsonSchema>>;
  /** Status of a redirect sent instead of the body in some cases. */
  readonly redirect?: 302 | 303;
}

export const Responds = (responses: DescribedResponses): MethodDecorator =>
  SetMetadata(respondsMetadata, responses);

export const okWith = (properties: Readonly<Record<string, JsonSchema>>): JsonSchema => ({
  type: 'object',
  properties: { ok: { const: true }, ...properties },
  required: ['ok', ...Object.keys(properties)],
});
