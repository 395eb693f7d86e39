import type { JsonSchema } from '../../kernel';
import type { Media, OpenApiResponse, OperationNotes, Parameter } from '../../web';
import { schemaRef, svcHeaderRefs } from './components';
import { bodySchema, type BodyInput } from './fields';

export const jsonContent = (schema: JsonSchema, example?: unknown): Readonly<Record<string, Media>> => ({
  'application/json': { schema, ...(example === undefined ? {} : { example }) },
});

export interface InferenceInput extends BodyInput {
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  readonly tag: string;
  readonly example?: object;
  readonly answer: Readonly<Record<string, Media>>;
  readonly form?: true;
  readonly free?: true;
  readonly errors?: 'MessagesError';
}

export function describeInference({
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
}: InferenceInput): OperationNotes {
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
          : jsonContent(schema, example && { model: 'MODEL', ...example }),
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

export const eventStream: Media = { schema: { type: 'string', description: 'Server-sent events.' } };
export const jsonOrStream = (name: string): Readonly<Record<string, Media>> => ({
  ...jsonContent(schemaRef(name)),
  'text/event-stream': eventStream,
});

interface ServiceOperationInput {
  readonly id: string;
  readonly summary: string;
  readonly tag: string;
  readonly answer: Readonly<Record<string, Media>>;
  readonly query?: Readonly<Record<string, JsonSchema>>;
  readonly body?: JsonSchema;
  readonly example?: object;
  readonly optionalBody?: true;
}

export function describeService({
  id,
  summary,
  tag,
  answer,
  query = {},
  body,
  example,
  optionalBody,
}: ServiceOperationInput): OperationNotes {
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
      : { requestBody: { required: optionalBody !== true, content: jsonContent(body, example) } }),
    responses: { 200: { description: 'Done.', content: answer } },
  };
}
