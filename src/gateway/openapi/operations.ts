import type { ModelKind } from '../../catalogue';
import { objectSchema, type JsonSchema } from '../../kernel';
import { keyChangeBody, newKeyBody, rotationFields } from '../../keys';
import { isGatewayPath, isProbePath } from '../../platform';
import type { OperationNotes, RegisteredRoute } from '../../web';
import { schemaRef } from './components';
import { type GatewayOperation, operations } from '../operations/operation';
import {
  describeInference,
  type InferenceInput,
  jsonContent,
  jsonOrStream,
  describeService,
  eventStream,
} from './describe-operation';

const hello = [{ role: 'user', content: 'Hello' }];
const text: JsonSchema = { type: 'string' };
const pageSize = (max: number): JsonSchema => ({ type: 'integer', minimum: 1, maximum: max });

const speechTypes = ['audio/mpeg', 'audio/wav', 'audio/opus', 'audio/aac', 'audio/flac', 'audio/pcm'];
const rerank: Omit<InferenceInput, 'id' | 'summary'> = {
  tag: 'Vectors and ranking',
  operation: 'rerank',
  required: ['model', 'query', 'documents'],
  example: { query: 'capital of France', documents: ['Paris', 'Berlin'] },
  answer: jsonContent(schemaRef('Ranking')),
};
/** Fields with a different meaning in the messages dialect. */
const messagesFields: Readonly<Record<string, JsonSchema>> = {
  speed: { type: 'string', description: 'As the supplier names it; its price must be known.' },
};
const chatTag = 'Text';
const audioTag = 'Audio';
const keysTag = 'Key management';
const serviceTag = 'Service';

export const gatewayTags = [
  chatTag,
  'Vectors and ranking',
  audioTag,
  'Images and moderation',
  'Models and own key',
  keysTag,
  serviceTag,
] as const;

const inferenceRoutes: Readonly<Record<string, InferenceInput>> = {
  'POST /v1/chat/completions': {
    id: 'createChatCompletion',
    summary: 'Chat completion',
    description: 'Whole, or with stream: true as events that end in [DONE].',
    tag: chatTag,
    operation: 'chat',
    required: ['model', 'messages'],
    example: { messages: hello },
    answer: jsonOrStream('ChatCompletion'),
  },
  'POST /v1/messages': {
    id: 'createMessage',
    summary: 'Message',
    description: 'The messages dialect, with every model of the catalogue; `auto` lets the gateway choose.',
    tag: chatTag,
    operation: 'messages',
    required: ['model', 'max_tokens', 'messages'],
    own: messagesFields,
    example: { max_tokens: 200, messages: hello },
    answer: jsonOrStream('Message'),
    errors: 'MessagesError',
  },
  'POST /v1/messages/count_tokens': {
    id: 'countTokens',
    summary: 'Count the tokens of a message',
    description: 'Free. x-svc-token-count says whether the count is exact or an estimate.',
    tag: chatTag,
    operation: 'count_tokens',
    required: ['model', 'messages'],
    own: messagesFields,
    example: { messages: hello },
    answer: jsonContent(schemaRef('TokenCount')),
    free: true,
    errors: 'MessagesError',
  },
  'POST /v1/responses': {
    id: 'createResponse',
    summary: 'Response',
    tag: chatTag,
    operation: 'responses',
    required: ['model', 'input'],
    example: { input: 'Hello' },
    answer: jsonOrStream('Response'),
  },
  'POST /v1/native/responses': {
    id: 'createNativeResponse',
    summary: 'Response of the native agent client',
    description: 'Passed on untouched to native suppliers; stream must be true and input a list.',
    tag: chatTag,
    operation: 'native',
    required: ['model', 'input', 'stream'],
    example: { stream: true, input: hello },
    answer: { 'text/event-stream': eventStream },
  },
  'POST /v1/completions': {
    id: 'createCompletion',
    summary: 'Completion of a text',
    tag: chatTag,
    operation: 'completions',
    required: ['model', 'prompt'],
    example: { prompt: 'Once upon a time', max_tokens: 50 },
    answer: jsonOrStream('Completion'),
  },
  'POST /v1/embeddings': {
    id: 'createEmbeddings',
    summary: 'Embeddings',
    tag: 'Vectors and ranking',
    operation: 'embeddings',
    required: ['model', 'input'],
    example: { input: ['one text', 'another'] },
    answer: jsonContent(schemaRef('Embeddings')),
  },
  'POST /v1/rerank': { ...rerank, id: 'rerank', summary: 'Rerank documents' },
  'POST /v2/rerank': { ...rerank, id: 'rerankV2', summary: 'Rerank documents, where newer SDKs ask' },
  'POST /v1/audio/transcriptions': {
    id: 'transcribe',
    summary: 'Speech to text',
    tag: audioTag,
    operation: 'transcription',
    required: ['file'],
    own: { model: { type: 'string', default: 'whisper' } },
    answer: { ...jsonContent(schemaRef('Transcript')), 'text/plain': { schema: text } },
    form: true,
  },
  'POST /v1/audio/translations': {
    id: 'translateSpeech',
    summary: 'Speech to English text',
    tag: audioTag,
    operation: 'translation',
    required: ['file', 'model'],
    answer: { ...jsonContent(schemaRef('Transcript')), 'text/plain': { schema: text } },
    form: true,
  },
  'POST /v1/audio/speech': {
    id: 'speak',
    summary: 'Text to speech',
    tag: audioTag,
    operation: 'speech',
    required: ['model', 'input'],
    own: {
      response_format: { ...operations.speech.bounds.response_format?.schema, default: 'mp3' },
    },
    example: { input: 'Hello', response_format: 'mp3' },
    answer: Object.fromEntries(
      speechTypes.map((type) => [type, { schema: { type: 'string', format: 'binary' } }]),
    ),
  },
  'POST /v1/images/generations': {
    id: 'createImage',
    summary: 'Image from a text',
    tag: 'Images and moderation',
    operation: 'image',
    required: ['model', 'prompt'],
    own: {
      background: text,
      response_format: text,
    },
    example: { prompt: 'A switchboard' },
    answer: jsonContent(schemaRef('Images')),
  },
  'POST /v1/moderations': {
    id: 'moderate',
    summary: 'Moderation',
    tag: 'Images and moderation',
    operation: 'moderation',
    required: ['model', 'input'],
    example: { input: 'Hello' },
    answer: jsonContent(schemaRef('Moderation')),
  },
};

const notesByRoute: Readonly<Record<string, OperationNotes>> = {
  ...Object.fromEntries(
    Object.entries(inferenceRoutes).map(([route, input]) => [route, describeInference(input)]),
  ),
  'GET /v1/responses/{response_id}': describeService({
    id: 'readResponse',
    summary: 'A kept response',
    tag: chatTag,
    answer: jsonContent(schemaRef('Response')),
  }),
  'GET /v1/responses/{response_id}/input_items': describeService({
    id: 'listInputItems',
    summary: 'What led to a kept response',
    tag: chatTag,
    query: { order: { enum: ['asc', 'desc'], default: 'desc' }, limit: pageSize(100), after: text },
    answer: jsonContent(schemaRef('ItemList')),
  }),
  'DELETE /v1/responses/{response_id}': describeService({
    id: 'deleteResponse',
    summary: 'Remove a kept response',
    tag: chatTag,
    answer: jsonContent(schemaRef('DeletedResponse')),
  }),
  'GET /v1/models': describeService({
    id: 'listModels',
    summary: 'Models this key may call',
    tag: 'Models and own key',
    answer: jsonContent(schemaRef('ModelList')),
  }),
  'GET /v1/models/{model}': describeService({
    id: 'readModel',
    summary: 'One model',
    tag: 'Models and own key',
    answer: jsonContent(schemaRef('Model')),
  }),
  'GET /v1/key': describeService({
    id: 'readOwnKey',
    summary: 'This key: its limits and what is used of them',
    tag: 'Models and own key',
    answer: jsonContent(schemaRef('Key')),
  }),
  'GET /api/oauth/usage': describeService({
    id: 'readOwnBudgets',
    summary: 'Budgets of this key in cents, in the form that Claude Code reads; 404 without a budget',
    tag: 'Models and own key',
    answer: jsonContent(schemaRef('Budgets')),
  }),
  'GET /v1/generations/{request_id}': describeService({
    id: 'readGeneration',
    summary: 'The record of a request of this key',
    tag: 'Models and own key',
    answer: jsonContent(schemaRef('Generation')),
  }),
  'GET /v1/usage': describeService({
    id: 'readOwnUsage',
    summary: 'What this key used, by hour, day or month',
    tag: 'Models and own key',
    query: {
      from: text,
      to: text,
      days: pageSize(800),
      bucket: { enum: ['hour', 'day', 'month'] },
      group_by: { enum: ['model', 'key', 'project', 'supplier', 'region', 'end_user', 'tag', 'user'] },
      zone: text,
      model: text,
      supplier: text,
      region: text,
      end_user: text,
      tag: text,
    },
    answer: jsonContent(schemaRef('Usage')),
  }),
  'POST /v1/manage/keys': describeService({
    id: 'createKey',
    summary: 'Make a key',
    tag: keysTag,
    body: objectSchema(newKeyBody),
    example: { name: 'my first key', budget_limit: 5, budget_period: 'monthly', allowed_regions: 'eu' },
    answer: jsonContent(schemaRef('NewKey')),
  }),
  'GET /v1/manage/keys': describeService({
    id: 'listKeys',
    summary: 'Keys, the newest first',
    tag: keysTag,
    query: {
      limit: pageSize(100),
      cursor: text,
      status: { enum: ['active', 'disabled', 'revoked', 'expired'] },
      name: text,
    },
    answer: jsonContent(schemaRef('KeyList')),
  }),
  'GET /v1/manage/keys/{key_id}': describeService({
    id: 'readKey',
    summary: 'One key',
    tag: keysTag,
    answer: jsonContent(schemaRef('Key')),
  }),
  'PATCH /v1/manage/keys/{key_id}': describeService({
    id: 'changeKey',
    summary: 'Change what is named of a key',
    tag: keysTag,
    body: objectSchema(keyChangeBody),
    example: { budget_limit: 10 },
    answer: jsonContent(schemaRef('Key')),
  }),
  'DELETE /v1/manage/keys/{key_id}': describeService({
    id: 'revokeKey',
    summary: 'Revoke a key, at once and for good',
    tag: keysTag,
    answer: jsonContent(schemaRef('Key')),
  }),
  'POST /v1/manage/keys/{key_id}/rotate': describeService({
    id: 'rotateKey',
    summary: 'Give a key a new secret',
    tag: keysTag,
    body: objectSchema(rotationFields),
    optionalBody: true,
    example: { grace_seconds: 3600 },
    answer: jsonContent(schemaRef('NewKey')),
  }),
  'GET /v1/manage/keys/{key_id}/audit': describeService({
    id: 'readKeyAudit',
    summary: 'What was done with a key, request by request',
    tag: keysTag,
    query: {
      from: { type: 'string', format: 'date-time' },
      to: { type: 'string', format: 'date-time' },
      model: text,
      limit: pageSize(1_000),
      cursor: text,
      format: { enum: ['json', 'csv'], default: 'json' },
    },
    answer: { ...jsonContent(schemaRef('AuditPage')), 'text/csv': { schema: text } },
  }),
  'GET /v1/errors': describeService({
    id: 'listErrors',
    summary: 'The error catalogue',
    tag: serviceTag,
    answer: jsonContent(schemaRef('ErrorList')),
  }),
  'GET /v1/errors/{code}': describeService({
    id: 'readError',
    summary: 'One error code',
    tag: serviceTag,
    answer: jsonContent(schemaRef('ErrorEntry')),
  }),
  'GET /v1/openapi.json': describeService({
    id: 'describeGateway',
    summary: 'This description',
    tag: serviceTag,
    answer: jsonContent({ type: 'object' }),
  }),
  'GET /health': describeService({
    id: 'health',
    summary: 'Whether the service answers',
    tag: serviceTag,
    answer: jsonContent(schemaRef('Health')),
  }),
  'GET /health/live': describeService({
    id: 'healthLive',
    summary: 'Whether the process answers',
    tag: serviceTag,
    answer: jsonContent(schemaRef('Health')),
  }),
  'GET /health/ready': describeService({
    id: 'healthReady',
    summary: 'Whether new work may come',
    tag: serviceTag,
    answer: jsonContent(schemaRef('Health')),
  }),
  'HEAD /api/hello': {
    operationId: 'hello',
    summary: 'Whether anybody is there, for clients that ask before they say who they are',
    tags: [serviceTag],
    responses: { 200: { description: 'Yes.' } },
  },
};

export function requestedModelKind({ method, path }: Pick<RegisteredRoute, 'method' | 'path'>): ModelKind {
  const operationName = inferenceRoutes[`${method} ${path}`]?.operation;
  return (
    Object.values<GatewayOperation>(operations).find(({ name }) => name === operationName)?.kind ?? 'chat'
  );
}

export const isGatewayRoute = ({ method, path }: RegisteredRoute): boolean =>
  isGatewayPath(path) || isProbePath(path) || `${method} ${path}` === 'HEAD /api/hello';

export const gatewayNotes = ({ method, path }: RegisteredRoute): OperationNotes =>
  notesByRoute[`${method} ${path}`] ?? {};

export const describedGatewayRoutes: readonly string[] = Object.keys(notesByRoute);
