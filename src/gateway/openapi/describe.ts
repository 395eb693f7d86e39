import type { Schema } from '../../kernel';
import type { Media, OpenApiResponse, OperationNotes, Parameter } from '../../web';
import { schemaRef, svcHeaderRefs } from './components';
import { bodySchema, type BodyInput } from './fields';

export const json = (schema: Schema, example?: unknown): Readonly<Record<string, Media>> => ({
  'application/json': { schema, ...(example === undefined ? {} : { example }) },
});

export interface CallInput extends BodyInput {
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  readonly tag: string;
  /** A body that works, beside its model. */
  readonly example?: object;
  readonly answer: Readonly<Record<string, Media>>;
  readonly form?: true;
  readonly free?: true;
  readonly errors?: 'MessagesError';
}

/** An operation that models answer. */
export function call({
  id,
  summary,
  description,
  tag,
  example,
  answer,
  form,
  free,
  errors,
  ...body
}: CallInput): OperationNotes {
  const schema = bodySchema(body);
  const ok: OpenApiResponse = {
    description: 'The answer.',
    ...(free === true ? {} : { headers: svcHeaderRefs }),
    content: answer,
  };
  return {
    operationId: id,
    summary,
    ...(description === undefined ? {} : { description }),
    tags: [tag],
    ...(free === true ? {} : { parameters: [idempotencyKey] }),
    requestBody: {
      required: true,
      content:
        form === true
          ? { 'multipart/form-data': { schema } }
          : json(schema, example && { model: 'MODEL', ...example }),
    },
    responses: {
      200: ok,
      ...(errors === undefined ? {} : { default: { $ref: `#/components/responses/${errors}` } }),
    },
  };
}

const idempotencyKey: Parameter = {
  name: 'Idempotency-Key',
  in: 'header',
  description: 'The same key and body are carried out once; not for streams.',
  schema: { type: 'string', maxLength: 255 },
};

export const stream: Media = { schema: { type: 'string', description: 'Server-sent events.' } };
export const orStream = (name: string): Readonly<Record<string, Media>> => ({
  ...json(schemaRef(name)),
  'text/event-stream': stream,
});

interface ReadInput {
  readonly id: string;
  readonly summary: string;
  readonly tag: string;
  readonly answer: Readonly<Record<string, Media>>;
  readonly query?: Readonly<Record<string, Schema>>;
  readonly body?: Schema;
  readonly example?: object;
  readonly optionalBody?: true;
}

/** An operation that the service answers itself. */
export function read({
  id,
  summary,
  tag,
  answer,
  query = {},
  body,
  example,
  optionalBody,
}: ReadInput): OperationNotes {
  return {
    operationId: id,
    summary,
    tags: [tag],
    parameters: Object.entries(query).map(([name, schema]) => ({
      name,
      in: 'query',
      required: false,
      schema,
    })),
    ...(body === undefined
      ? {}
      : { requestBody: { required: optionalBody !== true, content: json(body, example) } }),
    responses: { 200: { description: 'Done.', content: answer } },
  };
}
